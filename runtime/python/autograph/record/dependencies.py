"""Determines whether the results of a graph depend with a gradient on given values: on no path, on every path, or on
some paths only.

    h = w * x
    loss = h.sum() if x.sum() > 0 else x.sum()        # depends on `w` on one path only
"""

from .nodes import Value
from .ops import IF, NOT, OR, Raise
from .queries import operands_of, solve, stops_gradient
from .types import BOOL, gradient_type


class Dependencies:
    """Dependencies on the values in `sources`, whose indexes are the bits of numbers. A loop or called function depends on
    everything that it uses, as if each of its paths were taken."""

    def __init__(self, record, sources):
        self.record = record
        self.bits = {}
        for index, source in enumerate(sources):
            self.bits[source] = self.bits.get(source, 0) | 1 << index
        self._operands = {}  # node -> the values from outside that it uses
        self._found = {}  # value -> (the sources on which it may depend, those on which it depends on every path)

    def of(self, value):
        """Returns the sources on which a value may depend, and those on which it depends on every path."""
        return solve(self._found, value, self._parts, self._compute)

    def _compute(self, value):
        own = self.bits.get(value, 0)
        found = [self._found[part] for part in self._parts(value)]
        may = must = 0
        for part_may, part_must in found:
            may |= part_may
            must |= part_must
        if _is_selected(value):
            for _, part_must in found:
                must &= part_must
        return may | own, must | own

    def _parts(self, value):
        """Returns the values through which gradients propagate from a value."""
        node = value.node
        if node is None or gradient_type(value.type) is None or stops_gradient(node):
            return ()
        if node.op == IF:
            return [_value(result) for region, result in _branches(value) if not _raises(region)]
        if node not in self._operands:
            parts = [part for part in operands_of(node) if isinstance(part, Value)]
            self._operands[node] = [part for part in parts if part.region.encloses(value.region)]
        return self._operands[node]

    def flag(self, value, index):
        """Returns whether a value depends on the source with this index: True, False or a boolean value of the graph, which is
        recorded at the end of the current region."""
        bit, flags = 1 << index, {}

        def known(value):
            may, must = self.of(value)
            return False if not may & bit else True if must & bit else None

        def places(place):
            """Returns the values on which the flag of a value depends, each with the region in which its flag is needed."""
            value, region = place
            if known(value) is not None:
                return []
            if not _is_selected(value):
                return [(part, region) for part in self._parts(value)]
            return [(_value(result), branch) for branch, result in _branches(value) if not _raises(branch)]

        def compute(place):
            value, region = place
            answer = known(value)
            if answer is not None:
                return answer
            if _is_selected(value):
                found = [None if _raises(branch) else flags[_value(result), branch] for branch, result in _branches(value)]
                return self._selected(value.node, region, found)
            answer = False
            for part in places(place):
                answer = self.either(region, answer, flags[part])
            return answer

        return solve(flags, (value, self.record.region), places, compute)

    def either(self, region, a, b):
        """Returns `a or b` of two flags, in a region."""
        if a is True or b is True:
            return True
        return b if a is False else a if b is False or a is b else self._emit(region, OR, a, b)

    def _selected(self, node, region, flags):
        """Returns the flag of a result of an `if`, given those of the results of its branches (None for a branch that raises)."""
        live = [flag for flag in flags if flag is not None]
        if isinstance(live[0], bool) and live[0] is live[-1]:
            return live[0]
        if live == [True, False]:
            return node.args[0]
        if live == [False, True]:
            return self._emit(region, NOT, node.args[0])
        output = Value(BOOL, node.outputs[0].region, node=node)
        node.outputs.append(output)
        for branch, flag in zip(node.regions, flags):
            branch.results.append(False if flag is None else flag)
        return output

    def _emit(self, region, op, *args):
        with self.record.reopened(region):
            return self.record.emit(op, args, [BOOL])[0]


def _is_selected(value):
    """Returns whether a value is a result of an `if`."""
    return value.node is not None and value.node.op == IF


def _branches(value):
    """Returns the branches of an `if`, each with the result that becomes this value."""
    index = value.node.outputs.index(value)
    return [(region, region.results[index]) for region in value.node.regions]


def _raises(region):
    return bool(region.nodes) and isinstance(region.nodes[-1].op, Raise)


def _value(operand):
    """Returns an operand as a value."""
    return operand if isinstance(operand, Value) else _NOTHING


#: Stands for an operand that is a constant.
_NOTHING = Value(None, None)
