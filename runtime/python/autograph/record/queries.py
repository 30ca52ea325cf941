"""Queries on a record: dependencies between values, and properties of its nodes."""

import torch

from .nodes import Value
from .ops import ASSERT, FOR, IF, OVERWRITTEN, PRINT, WHILE, Call, Callback, Gradient, is_aten, of_torch, operator_of
from .types import gradient_type

_DETACH = of_torch(torch.ops.aten.detach.default)


def has_gradient(region):
    """Returns whether a region, or a function called in it, computes a gradient."""
    return any(isinstance(node.op, Gradient) for node in _nodes(region, set()))


def has_random(region):
    """Returns whether a region, or a function called in it, draws random numbers."""
    return any(_is_random(operator_of(node.op)) for node in _nodes(region, set()))


def has_effects(region):
    """Returns whether a region, or a function called in it, prints or calls a Python function that may have effects."""
    return any(map(_is_effect, _nodes(region, set())))


def has_repetition(region):
    """Returns whether a region, or a function called in it, has a loop or calls a function."""
    return any(node.op in (FOR, WHILE) or isinstance(node.op, Call) for node in _nodes(region, set()))


def called_for_effects(region):
    """Returns the indexes of the Python functions with effects other than output that a region, or a function called in it,
    calls."""
    effects = [node.op for node in _nodes(region, set()) if isinstance(node.op, Callback)]
    return {op.number for op in effects if not (op.is_pure or op.prints)}


def without_effects(region, values, undone):
    """Returns those nodes of a region that have no effects and do not depend on a node with effects. Returns None if a
    value depends on an effect. Calls of the Python functions in `undone` do not count as effects, because the caller
    undoes them."""
    kept, affected = [], set()
    for node in region.nodes:
        used = set()
        _add_operands(node, used)
        _add(node.args, used)
        if any(_is_lasting(inner, undone) for inner in _nodes_of(node)) or used & affected:
            affected.update(node.outputs)
        else:
            kept.append(node)
    return None if affected.intersection(values) else kept


def _nodes_of(node):
    """Yields a node and the nodes inside it."""
    yield node
    for inner in [node.op.function.region] if isinstance(node.op, Call) else node.regions:
        yield from _nodes(inner, set())


def _is_effect(node):
    return node.op == PRINT or isinstance(node.op, Callback) and not node.op.is_pure


def _is_lasting(node, undone):
    """Returns whether a node has an effect that is not undone."""
    return _is_effect(node) and getattr(node.op, "number", None) not in undone


def checked_late(region, messages, undone):
    """Returns those of the messages whose assertions follow an effect. Calls of the Python functions in `undone` do not
    count as effects, because they are undone if the run fails."""
    found, has_effect = set(), False
    for node in region.nodes:
        inside = list(_nodes_of(node))
        has_effect = has_effect or any(_is_lasting(n, undone) for n in inside)
        if has_effect:
            found |= {n.args[1] for n in inside if n.op == ASSERT and isinstance(n.args[1], str)} & messages
    return found


def overwrites(region):
    """Returns whether a region, or a function called in it, has an in-place write that autograd does not record."""
    return any(node.op == OVERWRITTEN for node in _nodes(region, set()))


def _is_random(operator):
    return operator is not None and torch.Tag.nondeterministic_seeded in operator.tags


def all_nodes(region):
    """Returns the nodes of a region and of the functions called in it."""
    return _nodes(region, set())


def _nodes(region, seen):
    """Yields all nodes of a region and of the functions called in it, each once."""
    seen.add(region)
    for node in region.nodes:
        yield node
        for inner in [node.op.function.region] if isinstance(node.op, Call) else node.regions:
            if inner not in seen:
                yield from _nodes(inner, seen)


def solve(found, value, parts, compute):
    """Computes `found[value] = compute(value)`, after the entries for the parts of `value`. Each entry is computed once.
    There is no recursion, so parts can be nested deeply. Returns the entry."""
    pending = [value]
    while pending:
        missing = [part for part in parts(pending[-1]) if part not in found]
        if missing:
            pending += missing
        else:
            last = pending.pop()
            if last not in found:
                found[last] = compute(last)
    return found[value]


def is_used(record, value):
    """Returns whether a node uses a value."""
    region, found = record.region, set()
    while region is not None:
        for node in region.nodes:
            _add_operands(node, found)
        region = region.parent
    return value in found


def depend_on(record, inputs, outputs):
    """Returns for each input whether an output depends on it with a gradient. Dependencies do not continue through
    numbers and through tensors of integers or booleans, because these have no gradient."""
    needed = set(outputs)
    for node in _differentiated(record, needed):
        _add_operands(node, needed)
    return [value in needed for value in inputs]


def accumulation_order(record, inputs, outputs):
    """Returns the indexes of the inputs in the order in which autograd completes their gradients. It differentiates the last
    operation first, so the gradient of an input is complete after the first operation that uses the input."""
    needed, completed = set(outputs), {}
    for number, node in enumerate(_differentiated(record, needed)):
        used = set()
        _add_operands(node, used)
        needed |= used
        places = {arg: place for place, arg in enumerate(_flat(node.args)) if isinstance(arg, Value)}
        completed.update((value, (number, places.get(value, 0))) for value in inputs if value in used)
    return sorted(range(len(inputs)), key=lambda index: completed.get(inputs[index], (0, 0)))


def _flat(operands):
    for operand in operands:
        yield from _flat(operand) if isinstance(operand, list) else [operand]


def _differentiated(record, needed):
    """Yields the nodes through which gradients of the `needed` values propagate, the last one first. The caller adds the operands
    of each node to `needed`."""
    region = record.region
    while region is not None:
        for node in reversed(region.nodes):
            if any(o in needed and gradient_type(o.type) is not None for o in node.outputs) and not stops_gradient(node):
                yield node
        region = region.parent


def earlier_values(value, carried=None):
    """Returns the earlier values of a tensor that may still be its value for autograd: on some path through conditions
    and loops of the graph, the tensor has not been changed since, or autograd has not recorded the change. `carried` maps
    the parameters of loops to the values that they may be equal to."""
    return _closure([value], _before, carried) - {value}


def gradient_sources(values, carried=None):
    """Returns the values on which these values depend with a gradient, and the values themselves. `carried` maps the
    parameters of loops to the values that they may be equal to."""
    return _closure([value for value in values if isinstance(value, Value)], _operands, carried)


def is_float(value):
    """Returns whether a value may have a gradient."""
    return gradient_type(value.type) is not None


def users(outputs):
    """Returns a dictionary from each value on which the outputs depend with a gradient to the values that use it."""
    found, pending, params = {output: set() for output in outputs}, list(outputs), {}
    while pending:
        value, operands = pending.pop(), set()
        _add(list(_operands(value, params)), operands)
        pending += operands - found.keys()
        for operand in operands:
            found.setdefault(operand, set()).add(value)
    return found


def are_sources(values, outputs, users, without):
    """Returns whether an output depends on one of the values with a gradient. Dependencies through `without` do not count.
    `users` are those of the outputs."""
    pending = [value for value in values if value in users]
    seen = {without, *pending}
    while pending:
        value = pending.pop()
        if value in outputs:
            return True
        new = users[value] - seen
        pending += new
        seen |= new
    return False


def _closure(values, parts, carried=None):
    found, pending, params = set(values), list(values), dict(carried or {})
    while pending:
        new = set()
        _add(list(parts(pending.pop(), params)), new)
        pending += new - found
        found |= new
    return found


def _before(value, params):
    if value.node is not None and value.node.op == OVERWRITTEN:
        return value.node.args[:1]
    return _on_paths(value, params) or ()


def _operands(value, params):
    found = _on_paths(value, params)
    if found is not None:
        return found
    if stops_gradient(value.node):
        return ()
    return value.node.args[:1] if value.node.op == OVERWRITTEN else value.node.args


def _on_paths(value, params):
    """Returns the values that a value may be equal to, if it is a result of a condition or loop, or a parameter of a
    loop: one for each path. Returns None for other values. For a result of a loop, adds the parameters of the loop to
    `params`."""
    node = value.node
    if node is None:
        return params.get(value, ())
    if node.op not in (IF, WHILE, FOR):
        return None
    index, count = node.outputs.index(value), len(node.outputs)
    if node.op == IF:
        return [region.results[index] for region in node.regions]
    carried = carried_by(node)
    params.update(carried)
    return carried[body_of(node).params[index - count]]


def body_of(loop):
    return loop.regions[loop.op == WHILE]


def carried_by(loop):
    """Returns a dictionary from each parameter of a loop to a tuple: the value before the loop, and the value after an
    iteration."""
    count, body = len(loop.outputs), body_of(loop)
    return dict(zip(body.params[-count:], zip(loop.args[-count:], body.results)))


def stops_gradient(node):
    """Returns whether gradients do not propagate through a node."""
    if isinstance(node.op, Gradient):
        return not node.op.create_graph
    return node.op == _DETACH or not node.grad and is_aten(node.op)


def operands_of(node):
    """Returns the values that a node and the regions in it use for results that have a gradient."""
    found = set()
    _add_operands(node, found)
    return found


def _add_operands(node, needed):
    _add(node.args[:1] if node.op == OVERWRITTEN else node.args, needed)
    called = node.op.function.region if isinstance(node.op, Call) else None
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
