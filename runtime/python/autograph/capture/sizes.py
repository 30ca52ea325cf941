"""Dimensions that are only known when the graph runs.

Torch's shape functions use symbols of a `ShapeEnv`; the record uses integers. This module translates between
them.
"""

import sympy
import torch
from torch.fx.experimental.symbolic_shapes import _constrain_range_for_size

from ..conversion import spans
from ..errors import StagingError
from ..record import ops
from ..record.ops import SIZE
from ..record.types import INT


class Sizes:
    def __init__(self, staging):
        self.staging = staging
        self.symbols = {}  # symbol -> its value, or (tensor value, dimension)
        self.groups = {}  # group of dimensions -> their SymInt
        self.numbers = {}  # value of a staged integer -> its SymInt in shapes

    def _new(self, origin):
        number = self.staging.shape_env.create_unbacked_symint()
        _constrain_range_for_size(number)
        self.symbols[number.node.expr] = origin
        return number

    def unknown(self, value, dim):
        """A new symbol for a dimension of a tensor."""
        return self._new((value, dim))

    def shared(self, group, value, dim):
        """The symbol of all dimensions of a group, which have equal sizes."""
        if group not in self.groups:
            self.groups[group] = self._new((value, dim))
        return self.groups[group]

    def number(self, value):
        """The symbol of a staged integer."""
        if value not in self.numbers:
            self.numbers[value] = self._new(value)
        return self.numbers[value]

    def seen(self, tensor, dim, number):
        """A dimension as a staged integer for Python code."""
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
                if isinstance(expression, sympy.Symbol):
                    self.symbols.setdefault(expression, (value, dim))

    def lower(self, number, origin=None):
        """A size as an operand: an integer, or a value computed in the current region."""
        expression = number.node.expr
        if expression.is_number:
            return int(expression)
        try:
            return self._walk(expression)
        except KeyError:
            if origin is None:
                raise StagingError(f"the size {expression} is not known in the graph", spans.current()) from None
            tensor, dim = origin
            return self.staging.emit(SIZE, [self.staging.value_of(tensor), dim], [INT])[0]

    def _walk(self, expression):
        if expression.is_number:
            return int(expression)
        memo = self.staging.record.region.memo
        if expression in memo:
            return memo[expression]
        memo[expression] = value = self._compute(expression)
        return value

    def _compute(self, expression):
        if isinstance(expression, sympy.Symbol):
            origin = self.symbols[expression]
            if isinstance(origin, tuple):
                return self.staging.emit(SIZE, list(origin), [INT])[0]
            return origin
        op = _OPERATIONS.get(type(expression).__name__)
        if op is None:
            raise KeyError(expression)
        result, *rest = map(self._walk, expression.args)
        for operand in rest:
            result = self.staging.emit(op, [result, operand], [INT])[0]
        return result


#: The operation for each class of symbolic expressions, by the name of the class.
_OPERATIONS = {
    "Add": ops.ADD, "Mul": ops.MUL, "FloorDiv": ops.FLOORDIV, "CleanDiv": ops.FLOORDIV, "Mod": ops.MOD,
    "PythonMod": ops.MOD, "Max": ops.MAX, "Min": ops.MIN, "PowByNatural": ops.POW, "Pow": ops.POW,
}  # fmt: skip
