"""Queries on a record: dependencies between values, and what its nodes do."""

from .nodes import Value

_RANDOM = (
    "rand", "rrelu", "bernoulli", "normal", "dropout", "multinomial", "poisson", "uniform", "exponential",
    "geometric", "cauchy",
)  # fmt: skip


def has_gradient(region):
    """Whether a region, or a function called in it, computes a gradient."""
    return any(node.op == "gradient" for node in _nodes(region, set()))


def has_random(region):
    """Whether a region, or a function called in it, draws random numbers."""
    return any(
        node.op.startswith("aten.") and any(name in node.op for name in _RANDOM) for node in _nodes(region, set())
    )


def _nodes(region, seen):
    """All nodes of a region and of the functions called in it, each once."""
    seen.add(region)
    for node in region.nodes:
        yield node
        for inner in [node.extra.region] if node.op == "call" else node.regions:
            if inner not in seen:
                yield from _nodes(inner, seen)


def depend_on(record, inputs, outputs):
    """For each input, whether the outputs depend on it."""
    needed = set(outputs)
    region = record.region
    while region is not None:
        for node in reversed(region.nodes):
            if any(output in needed for output in node.outputs) and not _stops_gradient(node):
                _add_operands(node, needed)
        region = region.parent
    return [value in needed for value in inputs]


def _stops_gradient(node):
    """Whether gradients do not propagate through a node."""
    return node.op == "aten.detach.default" or not node.grad and node.op.startswith("aten.")


def _add_operands(node, needed):
    _add(node.args[:1] if node.op == "overwritten" else node.args, needed)
    called = node.extra.region if node.op == "call" else None
    if called is not None and called not in needed:
        needed.add(called)
        _add(called.results, needed)
        for inner in reversed(called.nodes):
            _add_operands(inner, needed)
    for region in node.regions:
        _add(region.results, needed)
        for inner in reversed(region.nodes):
            _add_operands(inner, needed)


def _add(operand, needed):
    if isinstance(operand, Value):
        needed.add(operand)
    elif isinstance(operand, list):
        for element in operand:
            _add(element, needed)
