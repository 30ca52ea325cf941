"""Lengths of lists of the graph that follow from how they were made: `for i in range(20): items.append(i)`."""

from .nodes import Value


def known(value):
    """How many items a list has, or None where only the graph knows."""
    base, count = _trail(value)
    return count if base is None else None


def _trail(value):
    """What a list was made of, by adding how many items: (None, count) where it was made of nothing; a base that
    is no value stands for what is not known."""
    count = 0
    while True:
        node = _definition(value)
        if node is None:
            return value, count
        at = next(index for index, output in enumerate(node.outputs) if output is value)
        if node.op == "list.new":
            return None, count + len(node.args)
        if node.op == "list.filled" and type(node.args[0]) is int:
            return None, count + max(node.args[0], 0)
        if node.op in _ADDED:
            value, count = node.args[0], count + _ADDED[node.op]
        elif node.op == "for":
            rounds = _rounds(node)
            param, (base, added) = node.regions[0].params[at + 1], _of_region(node.regions[0], at)
            if rounds is None or base is not param:
                return _UNKNOWN, 0
            value, count = node.args[3 + at], count + rounds * added
        elif node.op == "if":
            (base, added), other = (_of_region(region, at) for region in node.regions)
            if (base, added) != other:
                return _UNKNOWN, 0
            if base is None:
                return None, count + added
            value, count = base, count + added
        else:
            return _UNKNOWN, 0
        if not isinstance(value, Value):
            return _UNKNOWN, 0


_UNKNOWN = object()
_ADDED = {"list.append": 1, "list.insert": 1, "list.set": 0, "list.pop": -1}


def _definition(value):
    return next((node for node in reversed(value.region.nodes) if value in node.outputs), None)


def _of_region(region, at):
    result = region.results[at]
    return _trail(result) if isinstance(result, Value) else (_UNKNOWN, 0)


def _rounds(node):
    """How many rounds a loop makes, if it is known and nothing ends it before."""
    bounds = node.args[:3]
    if len(node.regions) > 1 or any(type(bound) is not int for bound in bounds) or bounds[2] == 0:
        return None
    return len(range(*bounds))
