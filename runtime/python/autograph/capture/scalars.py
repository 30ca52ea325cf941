"""Staged scalars: a `torch.SymInt`, `SymFloat` or `SymBool` whose node is a value of the record.

Torch's argument parsers accept them. Arithmetic on them is recorded where it happens, with Python's semantics and
without symbolic algebra. Code that needs the concrete number is an error at the user's line."""

import torch

from ..conversion import spans
from ..errors import StagingError
from ..record.types import BOOL, FLOAT, INT
from . import texts

_BINARY = {
    "add": "add", "sub": "sub", "mul": "mul", "mod": "mod", "pow": "pow", "pow_by_natural": "pow",
    "float_pow": "pow", "sym_ite": "select", "floordiv": "floordiv", "int_floordiv": "floordiv", "truediv": "truediv",
    "int_truediv": "truediv", "float_truediv": "truediv", "sym_min": "min", "sym_max": "max", "and": "and",
    "or": "or", "sym_and": "and", "sym_or": "or", "eq": "eq", "ne": "ne",
    "lt": "lt", "le": "le", "gt": "gt", "ge": "ge", "bitwise_and": "and", "bitwise_or": "or",
}  # fmt: skip
_UNARY = {
    "neg": "neg", "abs": "abs", "sym_not": "not", "sym_float": "float", "floor": "floor", "ceil": "ceil",
    "trunc": "int", "sym_sqrt": "sqrt", "sym_exp": "exp", "sym_log": "log", "sym_sin": "sin", "sym_cos": "cos",
    "sym_tanh": "tanh",
}  # fmt: skip
_COMPARISONS = {"eq", "ne", "lt", "le", "gt", "ge"}
_CLASSES = {INT: torch.SymInt, FLOAT: torch.SymFloat, BOOL: torch.SymBool}


def kind_of(number):
    """The type of a Python number or staged scalar; None for anything else."""
    if isinstance(number, (bool, torch.SymBool)):
        return BOOL
    if isinstance(number, (int, torch.SymInt)):
        return INT
    if isinstance(number, (float, torch.SymFloat)):
        return FLOAT
    return None


def is_staged(value):
    return isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)) and isinstance(
        value.node, (ScalarNode, Literal)
    )


def result_kind(name, kinds):
    """The type of an operation's result in Python, given the types of its operands."""
    if name in _COMPARISONS or name in ("and", "or", "not", "bool"):
        return BOOL
    if name in ("truediv", "float", "sqrt", "exp", "log", "sin", "cos", "tanh"):
        return FLOAT
    if name in ("int", "floor", "ceil"):
        return INT
    if name == "select":
        kinds = kinds[1:]
        if kinds == [BOOL, BOOL]:
            return BOOL
    return FLOAT if FLOAT in kinds else INT


def apply(staging, name, *operands):
    """Records `scalar.<name>` of numbers and staged scalars."""
    kinds = [kind_of(operand) for operand in operands]
    kind = result_kind(name, kinds)
    args = [lower(staging, operand) for operand in operands]
    return wrap(staging, staging.emit("scalar." + name, args, [kind])[0])


def wrap(staging, value):
    """The Python object for a scalar value."""
    return _CLASSES[value.type](ScalarNode(staging, value))


def lower(staging, number):
    """The operand for a number."""
    if isinstance(number, (bool, int, float)):
        return number
    node = number.node
    if isinstance(node, Literal):
        return node.number
    if isinstance(node, ScalarNode):
        if not node.value.visible:
            raise StagingError("a number created inside a staged branch or loop is used outside of it", spans.current())
        return node.value
    return staging.size_expression(number)


class _Node:
    """The interface of the node of a symbolic number."""

    constant = None
    hint = None

    def is_int(self):
        return self.kind == INT

    def is_float(self):
        return self.kind == FLOAT

    def is_bool(self):
        return self.kind == BOOL

    def is_nested_int(self):
        return False

    def is_symbolic(self):
        return True

    def is_constant(self):
        return False

    def has_hint(self):
        return False

    def maybe_as_int(self):
        return None

    maybe_as_float = maybe_as_bool = maybe_as_int

    def wrap_int(self, number):
        return Literal(self.staging, number, INT)

    def wrap_float(self, number):
        return Literal(self.staging, number, FLOAT)

    def wrap_bool(self, number):
        return Literal(self.staging, number, BOOL)

    def clone(self):
        return self

    def str(self):
        return texts.mark(self.staging, _operand(self))

    _graph_repr = str

    def guard_or_false(self, file, line):
        return False

    guard_size_oblivious = guard_or_false

    def guard_or_true(self, file, line):
        return True

    expect_true = expect_size = guard_or_true

    def guard_int(self, file="", line=0):
        raise StagingError(
            f"Python needs the value of a staged {self.kind} here, but it is only known when the graph runs",
            spans.current(),
        )

    guard_float = guard_bool = bool_ = int_ = guard_int


class ScalarNode(_Node):
    def __init__(self, staging, value):
        self.staging = staging
        self.value = value
        self.kind = value.type


class Literal(_Node):
    """A Python number in an expression with a staged scalar."""

    def __init__(self, staging, number, kind):
        self.staging = staging
        self.number = number
        self.kind = kind


def _operand(node):
    return node.number if isinstance(node, Literal) else wrap(node.staging, node.value)


def _record(name):
    def method(self, *others):
        return apply(self.staging, name, _operand(self), *map(_operand, others)).node

    return method


for _methods in (_BINARY, _UNARY):
    for _method, _name in _methods.items():
        setattr(_Node, _method, _record(_name))
