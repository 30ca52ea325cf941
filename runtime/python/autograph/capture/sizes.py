"""Sizes of dimensions that are known only when the graph runs.

Torch's shape functions use symbols of a `ShapeEnv`, and the record uses staged integers. This module translates between
them.

Torch's shape functions may have to compare two sizes. Then the usual answer is assumed, and the graph checks it when it
runs.
"""

from functools import cached_property

import torch

from ..conversion import spans
from ..errors import StagingError
from ..record import ops
from ..record.ops import SIZE
from ..record.queries import solve
from ..record.types import BOOL, FLOAT, INT, TensorType
from .conditions import ARITHMETIC, Conditions, is_integer

#: The maximum number of operations in an expression of sizes. A larger expression becomes a new symbol about which nothing
#: is known. Without a limit, expressions could grow exponentially, because an expression may contain another one twice.
MAX_OPERATIONS = 64


def _symbols():
    from . import symbols

    return symbols


class Sizes:
    """The unknown sizes of one trace."""

    def __init__(self, staging):
        self.staging = staging
        self.symbols = {}  # symbol -> its value, or (tensor value, dimension)
        self.groups = {}  # group of dimensions -> their SymInt
        self.numbers = {}  # value of a staged integer -> its SymInt in shapes
        self.dimensions = {}  # (tensor value, dimension) -> its SymInt
        self.examples = {}  # symbol -> a size that this dimension has had
        self.hints = {}  # name of a symbol -> its size in this call, as far as an earlier trace of the call has computed it
        self.usual = {}  # result of an `if` -> the dimensions that it usually has
        self.earlier = {}  # staged integer that a loop carries -> its Python number before the loop
        self.weights = {}  # value of a staged integer -> the number of operations in its expression
        self.conditions = Conditions(self)

    @cached_property
    def shape_env(self):
        return _symbols().Shapes(self)

    def _new(self, origin):
        # If torch takes a result from its cache, the shape function does not run, so the checks of its assumptions
        # would be missing in the record.
        self.staging.fake_mode.cache_enabled = False
        number = self.shape_env.new()
        self._add(number.node.expr, origin)
        if isinstance(origin, tuple):
            self.dimensions[origin] = number
        return number

    def _add(self, symbol, origin):
        self.symbols[symbol] = origin
        if self.hints.get(symbol.name, 0) >= 2:
            self.examples.setdefault(symbol, self.hints[symbol.name])

    def unknown(self, value, dim):
        """Returns a new symbol for a dimension of a tensor."""
        number, usual = self._new((value, dim)), self.usual.get(value)
        if usual is not None and usual[dim] is not None:
            self.examples[number.node.expr] = usual[dim]
        return number

    def shared(self, group, value, dim, example):
        """Returns the symbol of all dimensions of a group, which have equal sizes."""
        if group not in self.groups:
            self.groups[group] = self._new((value, dim))
            self._note(self.groups[group], example)
        return self.groups[group]

    def number(self, value):
        """Returns a staged integer as a size: an expression of other sizes if it is computed from them."""
        return solve(self.numbers, value, _integers_of, self._number)

    def _number(self, value):
        number, self.weights[value] = self._computed(value)
        if value in self.earlier:
            self._note(number, self.earlier[value])
        return number

    def _computed(self, value):
        """Returns the size for a staged integer, computed from the sizes for its operands; and the number of operations in its
        expression."""
        node = value.node
        if node is not None and node.op == SIZE and tuple(node.args) in self.dimensions:
            return self.dimensions[tuple(node.args)], 1
        weight = 1 + sum(self.weights.get(operand, 1) for operand in _integers_of(value))
        if weight == 1 or weight > MAX_OPERATIONS:
            return self._new(value), 1
        with self.staging.quiet():
            operands = (a if type(a) is int else self.numbers[a] for a in node.args)
            return ARITHMETIC[node.op](*operands), weight

    def like(self, tensor, earlier):
        """Records the sizes of the tensor `earlier` as examples for the unknown dimensions of `tensor`."""
        with torch._C.DisableTorchFunction():
            for number, example in zip(tensor.shape, earlier.shape):
                self._note(number, example)

    def note_branches(self, flag, outputs, results):
        """Records as examples the sizes that the results of an `if` have on the usual path."""
        if not any(isinstance(output.type, TensorType) and None in output.type.dims for output in outputs):
            return
        answer = self.conditions.answer(flag, any_integer=False)
        if answer is not None:
            for output, result in zip(outputs, results[0 if answer.holds else 1]):
                if isinstance(output.type, TensorType) and hasattr(result, "type"):
                    self.usual[output] = result.type.dims

    def _note(self, number, example):
        if isinstance(example, torch.SymInt):
            example = _symbols().example(example.node.expr, self.examples)
        if isinstance(number, torch.SymInt) and _symbols().is_symbol(number.node.expr) and example >= 2:
            self.examples.setdefault(number.node.expr, example)

    # Assumptions.

    def assume(self, condition):
        """Returns the assumed answer to a condition on sizes, which the graph checks. None if the usual answer is unknown, or
        if the graph cannot check it."""
        answer = self.usually(condition)
        if answer is None:
            return None
        assumed, other = condition, _symbols().negated(condition)
        if not answer:
            assumed, other = other, assumed
        if self._is_refuted(assumed):
            answer, assumed = not answer, other
        return answer if self.check(assumed) else None

    def _is_refuted(self, condition):
        """Returns whether the sizes of this call contradict the assumption that a condition on sizes holds."""
        if not self.staging.refuted or any(symbol not in self.symbols for symbol in condition.free_symbols):
            return False
        return self.staging.is_refuted(self._described(condition))

    def usually(self, condition):
        """Returns whether a condition on sizes usually holds; None if that is not known."""
        return _symbols().usually(condition, self.examples)

    def truth(self, condition):
        """Returns whether a condition on sizes holds for all sizes; None if it depends on the sizes."""
        return _symbols().truth(condition)

    def compared(self, op, left, right):
        """Returns a comparison of two sizes as a condition."""
        return _symbols().compared(op, left, right)

    def check(self, condition):
        """Records a check of a condition on sizes. Returns whether that is possible."""
        memo = self.staging.record.region.memo
        if ("checked", condition) in memo:
            return True
        try:
            with self.staging.attempt():
                flag = self._walk(condition)
        except (KeyError, StagingError):
            return False
        self.staging.assume(flag, self._described(condition))
        memo["checked", condition] = True
        return True

    def _described(self, condition):
        """Returns the text of a condition for messages, with a description of each symbol."""
        names = {}
        for symbol in condition.free_symbols:
            origin = self.symbols[symbol]
            value, what = (origin[0], f"dimension {origin[1]}") if isinstance(origin, tuple) else (origin, "a number")
            names[symbol] = f"{what} of `{value.name}`" if value.name else f"{what} of a tensor"
        about = ", ".join(f"{symbol} is {name}" for symbol, name in sorted(names.items(), key=lambda pair: str(pair[0])))
        return f"the sizes satisfy `{condition}` (where {about})"

    def decided(self, value, any_integer=False):
        """Returns the assumed answer for a staged boolean that is computed from sizes only (with `any_integer`: from any
        integers); otherwise None. The graph checks the answer."""
        if isinstance(value, bool):
            return value
        answer = self.conditions.answer(value, any_integer)
        if answer is None or answer.is_certain:
            return None if answer is None else answer.holds
        memo = self.staging.record.region.memo
        if ("checked", value) not in memo:
            holds = answer.holds
            if self.staging.refuted and self.staging.is_refuted(self._message(value, holds, any_integer)):
                holds = not holds
            memo["checked", value] = holds
            flag = value if holds else self.staging.emit(ops.NOT, [value], [BOOL])[0]
            self.staging.assume(flag, self._message(value, holds, any_integer))
        return memo["checked", value]

    def _message(self, value, holds, any_integer):
        """Returns the text of an assumption about a staged boolean."""
        condition = self.conditions.comparison(value.node.op, value.node.args, any_integer)
        if condition is None:
            return f"a condition on {'sizes or numbers' if any_integer else 'sizes'} is {holds}"
        return self._described(condition if holds else _symbols().negated(condition))

    def known(self, op, operands):
        """Returns the result of a comparison of sizes if it is the same for all sizes; otherwise None."""
        condition = self.conditions.comparison(op, operands, any_integer=False)
        if condition is None:
            return None
        result = self.shape_env._maybe_evaluate_static(condition)
        return None if result is None else bool(result)

    def seen(self, tensor, dim, number):
        """Returns the size of a dimension as a staged integer, for Python code that reads `x.shape`."""
        value = self.lower(number, (tensor, dim))
        if isinstance(value, int):
            return value
        self.numbers.setdefault(value, number)
        return self.staging.scalar(value)

    def adopt(self, fake, value):
        """Registers the symbols that torch created for the dimensions of a result."""
        for dim, number in enumerate(fake.shape):
            if isinstance(number, torch.SymInt):
                expression = number.node.expr
                if _symbols().is_symbol(expression) and expression not in self.symbols:
                    self._add(expression, (value, dim))
                self.dimensions.setdefault((value, dim), number)

    def lower(self, number, origin=None):
        """Returns a size as an operand: an integer, or a value computed in the current region."""
        expression = number.node.expr
        if expression.is_number:
            return int(expression)
        try:
            return self._walk(expression)
        except KeyError:
            if origin is None:
                message = f"torch computes the number {expression} from sizes that are only known when the graph runs"
                help = "compute it in this function, or pass tensors of the same shapes in all calls"
                raise StagingError(f"{message}, and a graph cannot compute it\nhelp: {help}", spans.current()) from None
            tensor, dim = origin
            return self.staging.emit(SIZE, [self.staging.value_of(tensor), dim], [INT])[0]

    def _walk(self, expression):
        truth = _symbols().truth(expression)
        if truth is not None:
            return truth
        if expression.is_number:
            return _number(expression)
        memo = self.staging.record.region.memo
        if expression in memo:
            return memo[expression]
        memo[expression] = value = self._compute(expression)
        return value

    def _compute(self, expression):
        """Records the operations that compute an expression of sizes."""
        if _symbols().is_symbol(expression):
            origin = self.symbols[expression]
            if isinstance(origin, tuple):
                return self.staging.emit(SIZE, list(origin), [INT])[0]
            return origin
        name = type(expression).__name__
        op = _OPERATIONS.get(name)
        if op is None:
            raise KeyError(expression)
        result, *rest = map(self._walk, expression.args)
        if not rest:
            return self.staging.emit(op, [result], [_kind(name, [result])])[0]
        for operand in rest:
            result = self.staging.emit(op, [result, operand], [_kind(name, [result, operand])])[0]
        return result


def _integers_of(value):
    """Returns the staged integers that a size is computed from."""
    node = value.node
    if node is None or node.op not in ARITHMETIC or not all(map(is_integer, node.args)):
        return []
    return [operand for operand in node.args if type(operand) is not int]


def _number(expression):
    return int(expression) if expression.is_integer else float(expression)


def _kind(name, operands):
    """Returns the type of the result of an operation on numbers of the graph and Python numbers."""
    if name in _CONDITIONS:
        return BOOL
    if name in _INTEGERS:
        return INT
    is_float = any(isinstance(o, float) or getattr(o, "type", None) == FLOAT for o in operands)
    return FLOAT if is_float or name in _FLOATS else INT


#: The operation for each class of symbolic expressions, by the name of the class.
_OPERATIONS = {
    "Add": ops.ADD, "Mul": ops.MUL, "FloorDiv": ops.FLOORDIV, "CleanDiv": ops.FLOORDIV, "Mod": ops.MOD,
    "PythonMod": ops.MOD, "Max": ops.MAX, "Min": ops.MIN, "PowByNatural": ops.POW, "Pow": ops.POW,
    "Equality": ops.EQ, "Unequality": ops.NE, "StrictLessThan": ops.LT, "LessThan": ops.LE,
    "StrictGreaterThan": ops.GT, "GreaterThan": ops.GE, "And": ops.AND, "Or": ops.OR, "Not": ops.NOT,
    "IntTrueDiv": ops.TRUEDIV, "FloatTrueDiv": ops.TRUEDIV, "FloatPow": ops.POW, "ToFloat": ops.TO_FLOAT,
    "TruncToInt": ops.TO_INT, "FloorToInt": ops.FLOOR, "CeilToInt": ops.CEIL, "OpaqueUnaryFn_sqrt": ops.SQRT,
}  # fmt: skip
_INTEGERS = {"TruncToInt", "FloorToInt", "CeilToInt", "FloorDiv", "CleanDiv"}
_FLOATS = {"IntTrueDiv", "FloatTrueDiv", "FloatPow", "ToFloat", "OpaqueUnaryFn_sqrt"}
_CONDITIONS = {
    "Equality", "Unequality", "StrictLessThan", "LessThan", "StrictGreaterThan", "GreaterThan", "And", "Or", "Not",
}  # fmt: skip
