"""Determines which inputs of a graph influence the results and writes of an exported program. Exported programs do not set
`.grad` of tensors from outside, so these gradients do not count."""

from .graph import values

_EFFECTS = ("assert", "raise", "print", "python", "start", "call")


def inputs_read(trace, body):
    """Returns the inputs that influence a result, a write or an effect other than a new value of `.grad`."""
    gradients = _gradient_positions(trace)
    results = [result for position, result in enumerate(body.results) if position not in gradients]
    return _read(body, results) & set(body.params)


class _Marker:
    """A stand-in for the result of the graph at a position."""

    def __init__(self, position):
        self.position = position

    def __iter__(self):
        yield self

    def detach(self):
        return self

    def requires_grad_(self):
        return self


def _gradient_positions(trace):
    """Returns the positions of the results that are new values of `.grad`. Such a result has no other use."""
    markers = [_Marker(position) for position in range(len(trace.result.operands))]
    outside = {place: _Marker(None) for place in trace.places}
    try:
        gradients = trace.result.value(markers, outside)[2]
    except Exception:  # the result has an object that can be created only by a run of the graph
        return set()
    return {gradient.position for gradient in gradients if isinstance(gradient, _Marker)} - {None}


def _read(region, results):
    """Returns the values on which these results of a region and its effects depend."""
    live = {value for result in results for value in values(result)}
    for node in reversed(region.nodes):
        positions = [position for position, output in enumerate(node.outputs) if output in live]
        if node.op == "if":
            for inner in node.regions:
                live |= _read(inner, [inner.results[position] for position in positions])
        elif node.op in ("while", "for"):
            live |= _read_by_loop(node, set(positions))
        elif not positions and node.op not in _EFFECTS:
            continue
        if node.op in ("while", "for"):
            continue
        live.update(value for operand in node.operands for value in values(operand))
    return live


def _read_by_loop(node, positions):
    """Returns the values that a loop reads if its outputs at these positions are used. An iteration may read values that the
    previous iteration has computed, so this is a fixpoint iteration."""
    body = node.regions[0] if node.op == "for" else node.regions[1]
    tests = [region for region in node.regions if region is not body]
    count = len(node.outputs)
    while True:
        found = _read(body, [body.results[position] for position in positions])
        for test in tests:
            found |= _read(test, test.results)
        params = [region.params[len(region.params) - count :] for region in node.regions]
        more = positions | {position for position in range(count) if any(own[position] in found for own in params)}
        if more == positions:
            break
        positions = more
    starts = node.operands[len(node.operands) - count :]
    bounds = node.operands[: len(node.operands) - count]
    found.update(value for position in positions for value in values(starts[position]))
    found.update(value for bound in bounds for value in values(bound))
    return found
