"""Decides whether a staged boolean that is computed from sizes is true for the usual sizes.

The answer for a boolean is computed from the answers for its operands, and each answer is computed once. A symbolic
expression cannot be used instead: it would contain the condition of each `if` twice, so its size would grow exponentially
with the nesting depth of the conditions.
"""

import operator
from typing import NamedTuple

import torch

from ..record import ops
from ..record.nodes import Value
from ..record.ops import IF, SIZE
from ..record.queries import solve
from ..record.types import INT

#: Operations that compute a size from other sizes.
ARITHMETIC = {
    ops.ADD: operator.add, ops.SUB: operator.sub, ops.MUL: operator.mul, ops.FLOORDIV: operator.floordiv,
    ops.MOD: operator.mod, ops.MIN: torch.sym_min, ops.MAX: torch.sym_max,
}  # fmt: skip
_COMPARISONS = {ops.EQ, ops.NE, ops.LT, ops.LE, ops.GT, ops.GE}
_LOGIC = {ops.AND, ops.OR, ops.NOT}


class Answer(NamedTuple):
    """Whether a condition holds, for all sizes if `is_certain`, otherwise for the usual sizes."""

    holds: bool
    is_certain: bool


class Conditions:
    """The answers for the conditions of one trace."""

    def __init__(self, sizes):
        self.sizes = sizes
        self.answers = {False: {}, True: {}}  # `any_integer` -> value -> its answer; None if it depends on other values
        self.from_sizes = {}  # value -> whether it is computed from sizes only

    def answer(self, value, any_integer):
        """Returns the answer for a staged boolean that is computed from sizes only (with `any_integer`: from any integers);
        otherwise None."""
        answers = self.answers[any_integer]
        return solve(answers, value, _parts, lambda value: self._answer(value, answers, any_integer))

    def _answer(self, value, answers, any_integer):
        node = value.node
        if node is None:
            return None
        if node.op != IF and node.op not in _LOGIC:
            return self._compared(self.comparison(node.op, node.args, any_integer))
        parts = [answers[part] if isinstance(part, Value) else _literal(part) for part in _operands(value)]
        if any(part is None for part in parts):
            return None
        return _combined(node.op, parts)

    def _compared(self, condition):
        if condition is None:
            return None
        certain = self.sizes.truth(condition)
        if certain is not None:
            return Answer(certain, True)
        holds = self.sizes.usually(condition)
        return None if holds is None else Answer(holds, False)

    def comparison(self, op, operands, any_integer):
        """Returns a comparison as a symbolic condition; None if an operand is computed from other values."""
        if op not in _COMPARISONS or not all(map(is_integer if any_integer else self._is_size, operands)):
            return None
        return self.sizes.compared(op, *(a if type(a) is int else self.sizes.number(a) for a in operands))

    def _is_size(self, operand):
        """Returns whether an operand is computed from sizes only."""
        if isinstance(operand, Value):
            return solve(self.from_sizes, operand, _operands_of_arithmetic, self._is_from_sizes)
        return type(operand) is int

    def _is_from_sizes(self, value):
        if value.type != INT or value.node is None:
            return False
        if value.node.op == SIZE:
            return True
        return value.node.op in ARITHMETIC and all(
            self.from_sizes[a] if isinstance(a, Value) else type(a) is int for a in value.node.args
        )


def _combined(op, parts):
    """Returns the answer for a logical operation, or for one result of an `if`."""
    if op == IF:
        test, yes, no = parts
        chosen = yes if test.holds else no
        is_certain = test.is_certain or no.is_certain and yes.is_certain and no.holds == yes.holds
        return Answer(chosen.holds, chosen.is_certain and is_certain)
    if op == ops.NOT:
        return parts[0]._replace(holds=not parts[0].holds)
    decisive = op == ops.OR  # one operand with this value determines the result
    deciding = [part for part in parts if part.holds == decisive]
    if deciding:
        return Answer(decisive, any(part.is_certain for part in deciding))
    return Answer(not decisive, all(part.is_certain for part in parts))


def _literal(operand):
    return Answer(operand, True) if isinstance(operand, bool) else None


def _operands(value):
    """Returns the operands of a logical operation. For a result of an `if` (such as whether a variable is bound after it): the
    condition, and the results of the branches."""
    node = value.node
    if node.op != IF:
        return node.args
    at = next(index for index, output in enumerate(node.outputs) if output is value)
    return [node.args[0], *(region.results[at] for region in node.regions)]


def _parts(value):
    if value.node is None or value.node.op != IF and value.node.op not in _LOGIC:
        return []
    return [operand for operand in _operands(value) if isinstance(operand, Value)]


def _operands_of_arithmetic(value):
    if value.node is None or value.node.op not in ARITHMETIC:
        return []
    return [operand for operand in value.node.args if isinstance(operand, Value)]


def is_integer(operand):
    return type(operand) is int or getattr(operand, "type", None) == INT
