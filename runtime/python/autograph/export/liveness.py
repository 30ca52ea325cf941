"""Which inputs of a graph influence what a written program returns and writes. `.grad` of tensors from outside is not among it."""

from .graph import values

_EFFECTS = ("assert", "raise", "print", "python", "start", "call")


def inputs_read(trace, body):
    """The values of inputs that influence more than gradients."""
    gradients = _gradient_positions(trace)
    results = [result for position, result in enumerate(body.results) if position not in gradients]
    return _read(body, results) & set(body.params)


class _Marker:
    """Stands for the result of the graph at a position."""

    def __init__(self, position):
        self.position = position

    def __iter__(self):
        yield self

    def detach(self):
        return self

    def requires_grad_(self):
        return self


def _gradient_positions(trace):
    """The positions of the results that are new values of `.grad`. Each position is used once."""
    markers = [_Marker(position) for position in range(len(trace.result.operands))]
    outside = {place: _Marker(None) for place in trace.places}
    try:
        gradients = trace.result.value(markers, outside)[2]
    except Exception:  # an object that only a run of the graph can make
        return set()
    return {gradient.position for gradient in gradients if isinstance(gradient, _Marker)} - {None}


def _read(region, results):
    """The values that some results of a region and its effects depend on."""
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
    """What a loop reads, if its outputs at these positions are read. An iteration may read what the one before has computed."""
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
