"""Lengths of graph lists that are known while tracing: `for i in range(20): items.append(i)`."""

from .nodes import Value
from .ops import FOR, IF, LIST_APPEND, LIST_FILLED, LIST_INSERT, LIST_NEW, LIST_POP, LIST_SET, LIST_SLICE


def known(value):
    """Returns the length of a list; None if it is known only when the graph runs."""
    base, count = _derivation(value, {})
    return count if base is None else None


def _derivation(value, found):
    """Returns the list from which a list was derived (its *base*), and how many items have been added to the base. The
    base is None for a list that was created in the graph, and `_UNKNOWN` if it cannot be determined. `found` caches the
    derivations of results of regions: without it, the time would be exponential in the number of consecutive `if`s that
    extend the list."""
    count = 0
    while True:
        node = value.node
        if node is None:
            return value, count
        at = next(index for index, output in enumerate(node.outputs) if output is value)
        if node.op == LIST_NEW:
            return None, count + len(node.args)
        if node.op == LIST_FILLED and type(node.args[0]) is int:
            return None, count + max(node.args[0], 0)
        if node.op == LIST_SLICE:
            base, length = _of_slice(node, found)
            return base, count + length
        if node.op in _ITEMS_ADDED:
            value, count = node.args[0], count + _ITEMS_ADDED[node.op]
        elif node.op == FOR:
            iterations = _iterations(node)
            param, (base, added) = node.regions[0].params[at + 1], _of_region(node.regions[0], at, found)
            if iterations is None or base is not param:
                return _UNKNOWN, 0
            value, count = node.args[3 + at], count + iterations * added
        elif node.op == IF:
            (base, added), other = (_of_region(region, at, found) for region in node.regions)
            if (base, added) != other:
                return _UNKNOWN, 0
            if base is None:
                return None, count + added
            value, count = base, count + added
        else:
            return _UNKNOWN, 0
        if not isinstance(value, Value):
            return _UNKNOWN, 0


def _of_slice(node, found):
    items, *bounds = node.args
    base, count = _derivation(items, found)
    if base is not None or any(bound is not None and type(bound) is not int for bound in bounds):
        return _UNKNOWN, 0
    return None, len(range(*slice(*bounds).indices(count)))


_UNKNOWN = object()
_ITEMS_ADDED = {LIST_APPEND: 1, LIST_INSERT: 1, LIST_SET: 0, LIST_POP: -1}


def _of_region(region, at, found):
    result = region.results[at]
    if not isinstance(result, Value):
        return _UNKNOWN, 0
    if result not in found:
        found[result] = _derivation(result, found)
    return found[result]


def _iterations(node):
    """Returns the number of iterations of a loop; None if it is unknown or the loop may exit early."""
    bounds = node.args[:3]
    if len(node.regions) > 1 or any(type(bound) is not int for bound in bounds) or bounds[2] == 0:
        return None
    return len(range(*bounds))
