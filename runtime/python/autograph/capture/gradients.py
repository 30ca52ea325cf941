"""Gradients in staged code: `torch.autograd.grad` and `Tensor.backward` become nodes."""

import torch

from ..conversion import spans
from ..errors import OuterHistory, RunInPython, StagingError
from ..record.ops import OVERWRITTEN, Gradient, of_torch
from ..record.queries import are_sources, depend_on, earlier_values, is_used, users
from . import hooks, paths

_DETACH = of_torch(torch.ops.aten.detach.default)


def grad(
    staging, outputs, inputs, grad_outputs=None, allow_unused=None, materialize_grads=False, create_graph=False, backward=None,
    releases=False,
):  # fmt: skip
    """Returns the gradients of the outputs with respect to the inputs; None for an input on which no output depends.
    `backward` is the number of the `Tensor.backward` call that computes them; None for `torch.autograd.grad`. `releases`:
    whether torch releases the values that the history of the outputs has saved."""
    if torch.is_anomaly_enabled() and torch.is_anomaly_check_nan_enabled():
        message = "anomaly mode does not check the gradients that a graph computes"
        help = "call `ag.run_functions_eagerly()` to look for the anomaly"
        raise StagingError(f"{message}\nhelp: {help}", spans.current())
    outputs, inputs = _tuple(outputs), _tuple(inputs)
    seeds = _tuple(grad_outputs) if grad_outputs is not None else (None,) * len(outputs)
    values = [staging.value_of(output) for output in outputs]
    input_values = [staging.value_of(tensor, is_use=False) for tensor in inputs]
    _check_outside(staging, values, inputs)
    views = map(staging.view_of, inputs)
    _check_changes(staging, {view.base for view in views if not view.chain}, values)
    for value, seed in zip(values, seeds):
        if seed is None and any(n != 1 for n in value.type.dims):
            message = "a gradient without `grad_outputs` needs an output with one element; this one has more"
            raise StagingError(message, spans.current())
    seeds = [seed if seed is None else staging.value_of(seed) for seed in seeds]
    used = (
        depend_on(staging.record, input_values, values)
        if allow_unused or materialize_grads
        else [True] * len(input_values)
    )
    requested = [value for value, needed in zip(input_values, used) if needed]
    if releases and not staging.depth:
        staging.released.append((values, frozenset(requested)))
    types = [value.type for value in requested]
    leaves = () if backward is None else [(backward, _id_outside(staging, t)) for t, needed in zip(inputs, used) if needed]
    op = Gradient(create_graph, allow_unused or materialize_grads, tuple(leaves))
    order = hooks.order(staging, inputs, input_values, values)
    gradients = iter(staging.emit(op, [values, seeds, requested], types) if requested else [])
    results = [staging.fresh(next(gradients)) if needed else None for needed in used]
    for index in order:
        if used[index]:
            results[index] = hooks.called(staging, staging.view_of(inputs[index]), results[index])
        elif materialize_grads:
            results[index] = torch.zeros_like(inputs[index])
    if allow_unused and not materialize_grads:
        results = _unless_unused(staging, inputs, input_values, values, results)
    return tuple(results)


def _unless_unused(staging, inputs, input_values, outputs, results):
    """Replaces gradients by None if the outputs do not depend on the input for the arguments of this call."""
    for index, is_reached in enumerate(paths.reached(staging, input_values, outputs)):
        if results[index] is not None:
            flag = staging.both(is_reached, _is_used(staging, inputs[index]))
            if flag is not True and staging.decided(staging.operand(flag)) is False:
                results[index] = None
    return results


def _is_used(staging, tensor):
    base = staging.view_of(tensor).base
    return staging.uses.of(base) if base.was_leaf else True


_CHANGED = (
    "this gradient is with respect to an earlier value of a tensor that was changed in place"
    "\nhelp: compute the gradient before the change"
)


def _check_changes(staging, bases, outputs):
    """Raises an error for a gradient with respect to an earlier value of a tensor: the graph can compute gradients with respect
    to the current value only."""
    changed = [base for base in bases if base.is_recorded or base in staging.leaves]
    changed = [(base.value, earlier) for base in changed if (earlier := earlier_values(base.value))]
    used = users(outputs) if changed else {}
    if any(are_sources(earlier, outputs, used, without=value) for value, earlier in changed):
        raise StagingError(_CHANGED, spans.current())


def _check_outside(staging, outputs, inputs=None):
    """Lets Python run the call if an output depends on a tensor that was computed before the call and whose history
    leads to one of the `inputs` (to any leaf if `inputs` is None). The gradient would have to continue in this history.
    Records the tensors from outside that are leaves: the trace is not valid for a call in which they are computed
    tensors."""
    bases = [base for base in staging.leaves if base.source is not None and base.value.visible]
    used = depend_on(staging.record, [base.value for base in bases], outputs) if bases else ()
    for base in (base for base, needed in zip(bases, used) if needed):
        tensor = base.source.tensor
        if tensor.is_leaf:
            staging.leaf_sources.add(base.source)
        elif inputs is None or _reaches(tensor, [other for other in map(staging.source_of, inputs) if other is not None]):
            name = f"`{base.source.path}`" if base.source.path else "a tensor from outside"
            message = f"this gradient continues in the operations that computed {name} before the call"
            help = "compute the tensor in this function, or call `backward` outside of it"
            raise RunInPython(OuterHistory(f"{message}\nhelp: {help}", spans.current()), lasts=True)


def _reaches(tensor, targets):
    """Returns whether the history of a tensor contains one of these tensors, other than the tensor itself."""
    leaves = {id(target) for target in targets if target.grad_fn is None}
    nodes = {target.grad_fn for target in targets if target is not tensor and target.grad_fn is not None}
    pending, seen = [node for node, _ in tensor.grad_fn.next_functions if node is not None], set()
    while pending:
        node = pending.pop()
        if node in seen:
            continue
        seen.add(node)
        if node in nodes or id(getattr(node, "variable", None)) in leaves:
            return True
        pending += [previous for previous, _ in node.next_functions if previous is not None]
    return False


def backward(staging, tensor, gradient=None, inputs=None, releases=False):
    """Accumulates gradients into `.grad` of the tensors that require one. Returns these tensors."""
    if inputs is None:
        value = staging.value_of(tensor)
        _check_outside(staging, [value])
        bases = [base for base in list(staging.leaves) if base.value.visible]
        _check_changes(staging, bases, [value])
        used = depend_on(staging.record, [base.value for base in bases], [value])
        leaves = [staging.tensor_at(base) for base, needed in zip(bases, used) if needed]
        leaves += _views_used(staging, value)
        retained = [base for base in list(staging.retained) if base.value.visible]
        used = depend_on(staging.record, [base.value for base in retained], [value])
        leaves += [staging.tensor_at(base) for base, needed in zip(retained, used) if needed]
    else:
        leaves = list(_tuple(inputs))
    if not leaves:
        raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")
    staging.backwards += 1
    number = staging.backwards
    leaves = [leaf for leaf in leaves if (number, _id_outside(staging, leaf)) not in staging.unreached]
    seeds = None if gradient is None else (gradient,)
    found = grad(staging, (tensor,), leaves, seeds, backward=number if inputs is None else None, releases=releases)
    reached = paths.reached(staging, [staging.value_of(leaf, is_use=False) for leaf in leaves], [staging.value_of(tensor)])
    with torch.no_grad():
        for leaf, new, is_reached in zip(leaves, found, reached):
            staging.gradients.add(owner(staging, leaf), new, is_reached)
    return leaves


def _id_outside(staging, tensor):
    """Returns the id of the outside tensor that a tensor represents; None for a tensor that the function computes."""
    outside = staging.source_of(tensor)
    return None if outside is None else id(outside)


def _views_used(staging, value):
    """Returns the leaves that are views, and on which the value depends."""
    views = [view for view in list(staging.leaf_views) if view.base.value.visible]
    used = depend_on(staging.record, [staging.aliases.read(view) for view in views], [value])
    return [staging.leaf_views[view] for view, needed in zip(views, used) if needed]


def owner(staging, tensor):
    """Returns the owner of a tensor's gradient: its base, or the view itself if it is a leaf."""
    view = staging.view_of(tensor)
    return view if view in staging.leaf_views else view.base


def set_leaf(staging, base, requires_grad):
    """Changes `requires_grad` of a leaf. Values that are later computed from a frozen tensor have no gradient with
    respect to it, until it requires one again."""
    before, is_unwritten = base.value, _is_unwritten(staging, base)
    if not requires_grad:
        staging.leaves.discard(base)
        base.value = staging.emit(_DETACH, [before], [before.type])[0]
        staging.frozen[base] = before
    else:
        if base in staging.frozen:  # a later gradient is with respect to the tensor, not to the frozen value
            base.value = staging.emit(OVERWRITTEN, [staging.frozen.pop(base), before], [before.type])[0]
        elif base.source is not None and is_used(staging.record, before):
            message = "a tensor from outside is used before `requires_grad` is set"
            raise StagingError(f"{message}\nhelp: set it at the beginning, or before the call", spans.current())
        staging.leaves.add(base)
    if base.value is not before:
        base.version += 1
        if is_unwritten:
            staging.unwritten[base] = base.value
    if base.source is not None:
        staging.flags[base] = requires_grad
    elif requires_grad:
        staging.made_leaves.append(base.value)


def _is_unwritten(staging, base):
    """Returns whether the memory of a tensor from outside has not changed."""
    return base.source is not None and not staging.is_written(base)


def is_leaf(staging, tensor):
    """Returns whether a tensor is a leaf that requires a gradient."""
    view = staging.view_of(tensor)
    return view in staging.leaf_views if view.chain else view.base in staging.leaves


def requires_grad(staging, tensor):
    return is_leaf(staging, tensor) or has_history(staging, tensor)


def has_history(staging, tensor):
    """Returns whether a tensor is computed from one that requires a gradient."""
    leaves = [base.value for base in staging.leaves if base.value.visible]
    leaves += [staging.aliases.read(view) for view in list(staging.leaf_views) if view.base.value.visible]
    return bool(leaves) and any(depend_on(staging.record, leaves, [staging.value_of(tensor, is_use=False)]))


def _tuple(value):
    return (value,) if isinstance(value, torch.Tensor) else tuple(value)
