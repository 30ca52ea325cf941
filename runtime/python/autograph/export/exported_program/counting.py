"""The number of iterations of a `while` loop, computed by a loop before it.

    while n > 0:                         count, m = 0, n
        items.append(f(x))               while m > 0: count, m = count + 1, m - 1
        x, n = g(x), n - 1

The counting loop has only the nodes that the condition depends on, and the checks. It does not compute the items of lists.
"""

import itertools

import torch

from ..graph import INT, Node, Region, Value, values
from .free_values import free_values
from .operators import overload

_NUMBERS = itertools.count(1)
_CHECKS = ("assert", "raise")


def counting_loop(node, lists):
    """Returns a `while` node whose last output is the number of iterations of `node`. Returns None if this number depends on
    one of the growing lists, whose positions are `lists`, or on random numbers, which would be drawn twice."""
    condition, body = node.regions
    wanted = set()
    while True:
        tests, read = pruned(condition, condition.results)
        places = sorted(wanted)
        steps, more = pruned(body, [body.results[place] for place in places])
        found = {place for place, params in enumerate(zip(condition.params, body.params)) if not {*params}.isdisjoint(read | more)}
        if found <= wanted:
            break
        wanted |= found
    if wanted & lists or any(map(_draws, [*tests, *steps])):
        return None
    before, inside, after, output = (_new(INT) for _ in range(4))
    step = Node("scalar.add", None, [inside, 1], [after], [], node.span, node.grad)
    outputs = [_new(node.outputs[place].type) for place in places]
    regions = [
        Region([*(condition.params[place] for place in places), before], tests, condition.results),
        Region([*(body.params[place] for place in places), inside], [*steps, step], [*(body.results[p] for p in places), after]),
    ]
    starts = [node.operands[place] for place in places]
    return Node("while", None, [*starts, 0], [*outputs, output], regions, node.span, node.grad)


def pruned(region, results):
    """Returns the nodes on which these results and the checks of a region depend, including the checks; and the values
    that these nodes read."""
    live = {value for result in results for value in values(result)}
    kept = []
    for node in reversed(region.nodes):
        found = _pruned_node(node, live)
        if found is not None:
            kept.insert(0, found)
            live.update(value for operand in found.operands for value in values(operand))
            live.update(free_values(found.regions))
    return kept, live


def _pruned_node(node, live):
    places = [place for place, output in enumerate(node.outputs) if output in live]
    if node.op != "if":
        return node if places or node.op in _CHECKS or any(map(_has_check, node.regions)) else None
    if not places and not any(map(_has_check, node.regions)):
        return None
    regions = []
    for region in node.regions:
        results = [region.results[place] for place in places]
        regions.append(Region(region.params, pruned(region, results)[0], results))
    return Node(node.op, node.detail, node.operands, [node.outputs[place] for place in places], regions, node.span, node.grad)


def _has_check(region):
    return any(node.op in _CHECKS or any(map(_has_check, node.regions)) for node in region.nodes)


def _draws(node):
    if node.op.startswith("aten.") and torch.Tag.nondeterministic_seeded in overload(node.op).tags:
        return True
    return any(_draws(inner) for region in node.regions for inner in region.nodes)


def _new(type):
    return Value(-next(_NUMBERS), "count", type)
