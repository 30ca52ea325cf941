"""Finds gradients in loops that would have to continue in earlier iterations of the loop, or before it.

    for _ in range(n):
        y = y * w
        (g,) = torch.autograd.grad(y.sum(), w, retain_graph=True)     # also through the products of earlier iterations

A graph computes such a gradient in the current iteration only."""

from .nodes import Value
from .ops import FOR, WHILE, Call, Gradient
from .queries import body_of, carried_by, earlier_values, gradient_sources, is_float


def gradient_across(region):
    """Returns the first `Gradient` node in a loop of a region, or of a function that it calls, that differentiates values
    which depend on one of its inputs through another iteration, or through the values before the loop. Returns None if
    there is none."""
    pending, seen = [(region, ())], {region}
    while pending:
        region, loops = pending.pop()
        for node in region.nodes:
            if isinstance(node.op, Gradient) and loops and _continues(node, loops):
                return node
            if isinstance(node.op, Call) and node.op.function.region not in seen:
                seen.add(node.op.function.region)
                pending.append((node.op.function.region, ()))
            for inner in node.regions:
                is_body = node.op in (WHILE, FOR) and inner is body_of(node)
                pending.append((inner, (*loops, node) if is_body else loops))
    return None


def _continues(gradient, loops):
    outputs, _, inputs = gradient.args
    carried = {}  # parameter of a loop -> (its value before the loop, its value after an iteration), of the loops passed so far
    for loop in reversed(loops):
        own = carried_by(loop)
        used = {value for value in gradient_sources(outputs, carried) if value in own and is_float(value)}
        if any(_is_reached(value, used, body_of(loop), own, carried) for value in inputs):
            return True
        carried.update(own)
    return False


def _is_reached(value, used, body, own, inner):
    """Returns whether one of the `used` parameters of a loop depends on the tensor that is `value` in the current
    iteration. `own` are the carried values of the loop, and `inner` those of the loops inside it."""
    if not body.encloses(value.region):  # the same tensor in all iterations
        return value in gradient_sources(_values(own[param] for param in used), {**inner, **own})
    names = {value} | earlier_values(value, inner)
    others = used - names
    for param in names & own.keys():
        start, end = own[param]
        if end is param or isinstance(end, Value) and param in earlier_values(end, inner):  # changed in place
            if not gradient_sources(_values(own[other] for other in others), {**inner, **own}).isdisjoint({*names, end}):
                return True
        elif start in gradient_sources(_values([own[other][0]] for other in others), inner):
            return True
        elif end in gradient_sources(_values([own[other][1]] for other in others), inner):
            return True
    return False


def _values(groups):
    return [value for group in groups for value in group if isinstance(value, Value)]
