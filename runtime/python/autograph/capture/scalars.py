"""Staged scalars: each is a `torch.SymInt`, `SymFloat` or `SymBool` whose node refers to a value of the record.

Torch's argument parsers accept such numbers. An operation on them becomes a node, with Python's semantics and without
symbolic algebra. Code that needs the concrete number gets the number for the arguments of this call, and each run
checks it. If no check is possible, the line of that code is an error."""

import operator
from contextlib import contextmanager

import torch
from torch.fx.experimental import sym_node

from ..conversion import spans
from ..errors import IN_PYTHON, StagingError
from ..record import ops
from ..record.types import BOOL, FLOAT, INT
from . import texts

#: Method of the node of a symbolic number -> the operation that it records.
_METHODS = {
    "add": ops.ADD, "sub": ops.SUB, "mul": ops.MUL, "mod": ops.MOD, "pow": ops.POW, "pow_by_natural": ops.POW,
    "float_pow": ops.POW, "sym_ite": ops.SELECT, "floordiv": ops.FLOORDIV, "int_floordiv": ops.FLOORDIV,
    "truediv": ops.TRUEDIV, "int_truediv": ops.TRUEDIV, "float_truediv": ops.TRUEDIV, "sym_min": ops.MIN,
    "sym_max": ops.MAX, "and": ops.AND, "or": ops.OR, "sym_and": ops.AND, "sym_or": ops.OR, "eq": ops.EQ, "ne": ops.NE,
    "lt": ops.LT, "le": ops.LE, "gt": ops.GT, "ge": ops.GE, "neg": ops.NEG, "abs": ops.ABS, "sym_not": ops.NOT, "sym_float": ops.TO_FLOAT, "floor": ops.FLOOR,
    "ceil": ops.CEIL, "trunc": ops.TO_INT, "sym_sqrt": ops.SQRT, "sym_exp": ops.EXP, "sym_log": ops.LOG,
    "sym_sin": ops.SIN, "sym_cos": ops.COS, "sym_tanh": ops.TANH,
}  # fmt: skip
_CLASSES = {INT: torch.SymInt, FLOAT: torch.SymFloat, BOOL: torch.SymBool}

#: Operation -> the type of its result, if it does not depend on the types of the operands.
_RESULTS = {
    **dict.fromkeys((ops.EQ, ops.NE, ops.LT, ops.LE, ops.GT, ops.GE), BOOL),
    **dict.fromkeys((ops.AND, ops.OR, ops.NOT, ops.TO_BOOL), BOOL),
    **dict.fromkeys((ops.TRUEDIV, ops.TO_FLOAT, ops.SQRT, ops.EXP, ops.LOG, ops.SIN, ops.COS, ops.TANH), FLOAT),
    **dict.fromkeys((ops.TO_INT, ops.FLOOR, ops.CEIL), INT),
}

#: Type -> the class of Python's numbers of this type, and the operation that converts to it.
PYTHON_CLASSES = {INT: int, FLOAT: float, BOOL: bool}
CONVERSIONS = {INT: ops.TO_INT, FLOAT: ops.TO_FLOAT, BOOL: ops.TO_BOOL}


def kind_of(number):
    """Returns the type of a Python number or staged scalar; None for anything else."""
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


def class_of(value):
    """Returns the class that a value has when the graph runs."""
    return PYTHON_CLASSES[kind_of(value)] if is_staged(value) else type(value)


def result_kind(op, kinds):
    """Returns the type of an operation's result in Python, given the types of its operands."""
    known = _RESULTS.get(op)
    if known is not None:
        return known
    if op == ops.SELECT:
        kinds = kinds[1:]
        if kinds == [BOOL, BOOL]:
            return BOOL
    return FLOAT if FLOAT in kinds else INT


def apply(staging, op, *operands):
    """Records an operation on numbers and staged scalars."""
    kinds = [kind_of(operand) for operand in operands]
    kind = result_kind(op, kinds)
    args = [lower(staging, operand) for operand in operands]
    known = staging.sizes.known(op, args) if kind == BOOL else None
    if known is not None:
        return torch.SymBool(Literal(staging, known, BOOL))
    return wrap(staging, staging.emit(op, args, [kind])[0])


def wrap(staging, value):
    """Returns the Python object for a scalar value."""
    return _CLASSES[value.type](ScalarNode(staging, value))


def lower(staging, number):
    """Returns the operand for a number."""
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


def _same(number, memo):
    return number


for _class in (torch.SymInt, torch.SymFloat, torch.SymBool):  # `copy.deepcopy(state)`: numbers are immutable
    if not hasattr(_class, "__deepcopy__"):
        _class.__deepcopy__ = _same


class _Node:
    """The interface that torch expects from the node of a symbolic number."""

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
        return texts.placeholder(self.staging, _operand(self))

    _graph_repr = str

    def guard_or_false(self, file, line):
        return False

    guard_size_oblivious = guard_or_false

    def guard_or_true(self, file, line):
        return True

    expect_true = expect_size = guard_or_true

    def guard_int(self, file="", line=0):
        message = f"Python needs the value of a staged {self.kind} here, but it is only known when the graph runs"
        raise StagingError(f"{message}{IN_PYTHON}", spans.current())

    guard_float = guard_bool = bool_ = int_ = guard_int


class ScalarNode(_Node):
    """The node of a staged scalar, which is the value `value` of the record."""

    def __init__(self, staging, value):
        self.staging = staging
        self.value = value
        self.kind = value.type

    def guard_bool(self, file="", line=0):
        """Called when code that is not converted, such as torch's, branches on the boolean."""
        answer = self.staging.decided(self.value) if self.kind == BOOL else None
        return super().guard_int() if answer is None else answer

    def guard_int(self, file="", line=0):
        """Called when code that is not converted needs the number: `hex(n)`, `"ab"[n]`, `n.bit_length()`."""
        answer = self.staging.decided_number(self.value)
        return super().guard_int() if answer is None else answer

    bool_ = guard_bool
    guard_float = int_ = guard_int


class Literal(_Node):
    """A Python number in an expression with a staged scalar."""

    def __init__(self, staging, number, kind):
        self.staging = staging
        self.number = number
        self.kind = kind

    def guard_bool(self, file="", line=0):
        return self.number

    guard_int = guard_float = bool_ = int_ = guard_bool


def _operand(node):
    if isinstance(node, Literal):
        return node.number
    return wrap(node.staging, node.value) if isinstance(node, ScalarNode) else _of_torch(node)


def _of_torch(node):
    """Returns the symbolic number for a node of torch: a size, or a number that torch's own code computes from sizes."""
    return _CLASSES[INT if node.is_int() else FLOAT if node.is_float() else BOOL](node)


def _record(op):
    def method(self, *others):
        return apply(self.staging, op, _operand(self), *map(_operand, others)).node

    return method


def _in_python(function):
    def method(self, *others):
        """Computes the result in Python, with the number for the arguments of this call. `round(x, 2)` passes the 2 as it is."""
        number = function(*(node.guard_int() if hasattr(node, "guard_int") else node for node in (self, *others)))
        return Literal(self.staging, number, kind_of(number))

    return method


def _bitwise(op, function):
    of_booleans, of_integers = _record(op), _in_python(function)

    def method(self, other):
        return (of_booleans if self.kind == other.kind == BOOL else of_integers)(self, other)

    return method


for _name in sym_node.magic_methods:
    setattr(_Node, _name, _in_python(sym_node.METHOD_TO_OPERATOR[_name]))
for _method, _op in _METHODS.items():
    setattr(_Node, _method, _record(_op))
_Node.bitwise_and = _bitwise(ops.AND, operator.and_)
_Node.bitwise_or = _bitwise(ops.OR, operator.or_)
_Node.bitwise_xor = _bitwise(ops.NE, operator.xor)


def _hash(number):
    return hash(number.node.guard_int()) if is_staged(number) else _HASH(number)


def _invert(number):
    return -1 - number


def _integer(number):
    return apply(number.node.staging, ops.TO_INT, number) if is_staged(number) and kind_of(number) == BOOL else number


def _of_booleans(kind, name):
    """Returns an operator of booleans that torch lacks: `-flag`, `flag / 2`, `flag & 1`. As in Python, it computes with integers,
    but `&`, `|` and `^` of two booleans are booleans."""
    method = kind.__dict__.get(name)
    is_right = name.startswith("__r") and name != "__rshift__"
    function = getattr(operator, f"__{name[3:]}" if is_right else name)

    def operate(flag, *others):
        kinds = [kind_of(other) for other in others]
        if kinds == [BOOL] and function is operator.xor:
            return flag != others[0]
        if None in kinds or not is_staged(flag) or method is not None and kinds == [BOOL]:
            return NotImplemented if method is None else method(flag, *others)
        operands = [_integer(number) for number in (flag, *others)]
        return function(*(reversed(operands) if is_right else operands))

    return operate


def _attribute(number, name):
    """Returns an attribute that torch's class lacks: `n.bit_count()`, `x.real`."""
    if is_staged(number) and not name.startswith("_") and hasattr(class_of(number), name):
        return getattr(number.node.guard_int(), name)
    raise AttributeError(f"'{type(number).__name__}' object has no attribute '{name}'")


def _with_other_numbers(kind, name):
    """Returns an operator for two further cases: a staged number with a complex number, and a staged number with one of
    torch's own symbolic numbers. With a complex number, the operator uses the staged number's value for the arguments
    of this call."""
    method = getattr(kind, name)

    def operate(number, other):
        if type(other) is complex and is_staged(number):
            return getattr(complex(number.node.guard_int()), name)(other)
        if is_staged(other) and not is_staged(number):
            staging = other.node.staging
            operand = lower(staging, number)
            number = wrap(staging, operand) if hasattr(operand, "type") else operand
            return getattr(operator, name)(number, other) if name in _LEFT else getattr(operator, _RIGHT[name])(other, number)
        return method(number, other)

    return operate


def _ufunc(number, ufunc, method, *inputs, out=None, **keywords):
    """NumPy calls this for `np.float64(2) * n`, which is staged, and for `array * n`, which uses the staged number's value
    for the arguments of this call."""
    name = _OF_UFUNCS.get(ufunc.__name__)
    if name is not None and method == "__call__" and all(hasattr(value, "item") or is_staged(value) for value in inputs):
        if not any(getattr(value, "ndim", 0) for value in inputs) and out is None:
            return getattr(operator, name)(*(value if is_staged(value) else value.item() for value in inputs))
    inputs = [value.node.guard_int() if is_staged(value) else value for value in inputs]
    return getattr(ufunc, method)(*inputs, out=out, **keywords)


#: The names of NumPy's functions for Python's operators.
_OF_UFUNCS = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv", "floor_divide": "floordiv", "remainder": "mod",
    "power": "pow", "equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge",
}  # fmt: skip

_NAMES = "add", "sub", "mul", "truediv", "floordiv", "mod", "pow"
_LEFT = {*(f"__{name}__" for name in _NAMES), "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"}
_RIGHT = {f"__r{name}__": f"__{name}__" for name in _NAMES}
_OF_BOOLEANS = [
    "__neg__", "__pos__", "__invert__", "__lt__", "__le__", "__gt__", "__ge__",
    *(
        f"__{side}{name}__"
        for name in ("truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and", "or", "xor") for side in ("", "r")
    ),
]  # fmt: skip
_HASH = torch.SymInt.__hash__
_METHODS_OF_PYTHON = [
    (torch.SymInt, "__hash__", _hash),
    (torch.SymInt, "__invert__", _invert),
    *((torch.SymBool, name, _of_booleans(torch.SymBool, name)) for name in _OF_BOOLEANS),
    *(
        (kind, name, _with_other_numbers(kind, name))
        for kind in (torch.SymInt, torch.SymFloat)
        for name in (*_LEFT, *_RIGHT)
        if hasattr(kind, name)
    ),
    *((kind, "__getattr__", _attribute) for kind in _CLASSES.values()),
    *((kind, "__array_ufunc__", _ufunc) for kind in _CLASSES.values()),
    *((kind, "__copy__", lambda number: number) for kind in _CLASSES.values()),
    *((kind, "__format__", texts.format_number) for kind in _CLASSES.values()),
]


@contextmanager
def python_numbers():
    """Adds operations of Python's numbers that torch's symbolic numbers lack: `f"{n}"`, `~n`, `{n: 1}`, `n.bit_count()`."""
    before = [kind.__dict__.get(name) for kind, name, _ in _METHODS_OF_PYTHON]
    for kind, name, method in _METHODS_OF_PYTHON:
        setattr(kind, name, method)
    try:
        yield
    finally:
        for (kind, name, _), method in zip(_METHODS_OF_PYTHON, before):
            delattr(kind, name) if method is None else setattr(kind, name, method)
