"""Questions about a finished or growing record: which values depend on which, and what its nodes do."""

from .nodes import Value

_RANDOM = (
    "rand", "rrelu", "bernoulli", "normal", "dropout", "multinomial", "poisson", "uniform", "exponential",
    "geometric", "cauchy",
)  # fmt: skip


def has_gradient(region):
    """Whether a gradient is taken in a region, or in a function that is called there."""
    return any(node.op == "gradient" for node in _nodes(region, set()))


def has_random(region):
    """Whether random numbers are drawn in a region, or in a function that is called there."""
    return any(
        node.op.startswith("aten.") and any(name in node.op for name in _RANDOM) for node in _nodes(region, set())
    )


def _nodes(region, seen):
    """All nodes in a region, those of the functions that are called included, once."""
    seen.add(region)
    for node in region.nodes:
        yield node
        for inner in [node.extra.region] if node.op == "call" else node.regions:
            if inner not in seen:
                yield from _nodes(inner, seen)


def depend_on(record, inputs, outputs):
    """Which of the inputs the outputs depend on."""
    needed = set(outputs)
    region = record.region
    while region is not None:
        for node in reversed(region.nodes):
            if any(output in needed for output in node.outputs) and not _ends_here(node):
                _add_operands(node, needed)
        region = region.parent
    return [value in needed for value in inputs]


def _ends_here(node):
    """Whether no gradient passes through a node."""
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
