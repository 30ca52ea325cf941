"""Moves the waits for collectives to the first uses of their results, so that other operations run at the same time."""

from .nodes import Value
from .ops import OVERWRITTEN, Call, Callback, operator_of


def delay(region, seen=None):
    """Moves each wait of a region, and of the regions and functions in it, before the first node that uses its result, or
    to the end of its region. Nodes that return views of the result, or write the result to a tensor, move with the wait.
    Collectives still start in program order."""
    seen = set() if seen is None else seen
    seen.add(region)
    for node in region.nodes:
        for inner in _inner(node):
            if inner not in seen:
                delay(inner, seen)
    if any(map(_is_wait, region.nodes)):
        region.nodes[:] = _delayed(region.nodes)


def _delayed(nodes):
    waiting, placed = {}, []  # output -> the postponed node that computes it

    def place(node):
        """Appends a node to `placed`, after the waiting nodes on which it depends."""
        pending = [node]
        while pending:
            missing = next((waiting[value] for value in _used(pending[-1]) if value in waiting), None)
            if missing is not None:
                pending.append(missing)
                continue
            placed.append(pending.pop())
            for output in placed[-1].outputs:
                waiting.pop(output, None)

    for node in nodes:
        if _is_wait(node) or _is_derivative(node) or _is_view(node) and not waiting.keys().isdisjoint(_values(node.args)):
            waiting.update((output, node) for output in node.outputs)
        else:
            place(node)
    while waiting:
        place(next(iter(waiting.values())))
    return placed


def _used(node):
    """Returns all values that a node uses, also in its regions and in the functions that these call."""
    pending, seen = [node], set()
    while pending:
        node = pending.pop()
        yield from _values(node.args)
        for region in _inner(node):
            if region not in seen:
                seen.add(region)
                pending += region.nodes
                yield from _values(region.results)


def _inner(node):
    return [node.op.function.region] if isinstance(node.op, Call) else node.regions


def _values(operand):
    if isinstance(operand, Value):
        yield operand
    elif isinstance(operand, (list, tuple)):
        for element in operand:
            yield from _values(element)


def _is_wait(node):
    return isinstance(node.op, Callback) and node.op.collective == "wait"


def _is_derivative(node):
    """Returns whether a node only attaches a derivative to the result of a collective."""
    operator = operator_of(node.op)
    return operator is not None and operator.name() == "autograph::collected"


def _is_view(node):
    """Returns whether a node computes nothing: its results are views of an operand, or a tensor that is written. It can
    be moved, because all values of a record are immutable."""
    if node.op == OVERWRITTEN:
        return True
    operator = operator_of(node.op)
    returns = operator._schema.returns if operator is not None else ()
    is_view = bool(returns) and all(r.alias_info is not None and not r.alias_info.is_write for r in returns)
    return is_view or operator is not None and operator.name() == "aten::reshape"
