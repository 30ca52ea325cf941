"""Which lists a program in TorchScript may change in place: lists of a graph are values, those of TorchScript are objects.

A list is changed in place if only one variable holds it, and that variable is not read again.
"""

from ..graph import List, Value, values


def dying(function):
    """For each node and for the results of each region, by identity, the lists that are not used afterwards."""
    found = {}
    _region(function.body, set(), found)
    return found


def _region(region, live, found):
    """`live` are the lists that are used after the region. Returns those that are used from its beginning on."""
    results = [value for result in region.results for value in values(result)]
    found[id(region)] = {value for value in _lists(results) if value not in live and results.count(value) == 1}
    live = live | _lists(results)
    for node in reversed(region.nodes):
        live = _node(node, live - set(node.outputs), found)
    return live - set(region.params)


def _node(node, live, found):
    operands = [value for operand in node.operands for value in values(operand)]
    inside = set(live)
    if node.op in ("while", "for"):  # what one iteration uses, the next one uses again
        for region in node.regions:
            inside |= _region(region, set(), {})
    before = set(inside)
    for region in node.regions:
        before |= _region(region, inside, found)
    found[id(node)] = {value for value in _lists(operands) if value not in before and operands.count(value) == 1}
    return before | _lists(operands)


def _lists(found):
    return {value for value in found if isinstance(value, Value) and isinstance(value.type, List)}
