"""Determines which lists may be changed in place: a list of a graph is an immutable value, a list of TorchScript is an object.

A list is changed in place if only one variable holds it, and that variable is not read again.
"""

from ..graph import List, Value, values


def dying(function):
    """Returns the lists whose last use is in a node or in the results of a region: id of the node or region -> lists."""
    found = {}
    _region(function.body, set(), found)
    return found


def _region(region, live, found):
    """`live` contains the lists that are used after the region. Returns the lists that are used in it or after it."""
    results = [value for result in region.results for value in values(result)]
    found[id(region)] = {value for value in _lists(results) if value not in live and results.count(value) == 1}
    live = live | _lists(results)
    for node in reversed(region.nodes):
        live = _node(node, live - set(node.outputs), found)
    return live - set(region.params)


def _node(node, live, found):
    operands = [value for operand in node.operands for value in values(operand)]
    inside = set(live)
    if node.op in ("while", "for"):  # a list that one iteration uses is used again by the next iteration
        for region in node.regions:
            inside |= _region(region, set(), {})
    before = set(inside)
    for region in node.regions:
        before |= _region(region, inside, found)
    found[id(node)] = {value for value in _lists(operands) if value not in before and operands.count(value) == 1}
    return before | _lists(operands)


def _lists(found):
    return {value for value in found if isinstance(value, Value) and isinstance(value.type, List)}
