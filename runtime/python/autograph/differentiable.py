"""A staged function in a computation that torch differentiates: `loss.backward()` outside reaches what was given to
it and what it captured.

The backward pass is a second graph: the first again, and its gradient. Random numbers are drawn as they were.
"""

import torch

from .capture import lower
from .capture.record import TensorType, Value


def is_needed(tensors):
    return torch.is_grad_enabled() and any(isinstance(t, torch.Tensor) and t.requires_grad for t in tensors)


def run(trace, tensors):
    """The outputs of the graph, as results of these tensors."""
    return Differentiable.apply(trace, *tensors)


class Differentiable(torch.autograd.Function):
    @staticmethod
    def forward(ctx, trace, *tensors):
        ctx.trace = trace
        ctx.random = torch.get_rng_state() if trace.is_random else None
        plain = [t.detach() if isinstance(t, torch.Tensor) else t for t in tensors]
        written = {id(capture) for capture in trace.writes}
        ctx.others = [None if isinstance(t, torch.Tensor) else t for t in tensors]
        ctx.save_for_backward(
            *(
                (t.clone() if id(capture) in written else t) if isinstance(t, torch.Tensor) else None
                for t, capture in zip(plain, trace.captures)
            )
        )
        outputs = tuple(trace.plan.run(plain))
        followed = trace.followed(tuple(ctx.needs_input_grad[1:]))
        ctx.mark_non_differentiable(
            *(o for o, has in zip(outputs, followed) if isinstance(o, torch.Tensor) and not has)
        )
        return outputs

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, *seeds):
        needed = tuple(ctx.needs_input_grad[1:])
        plan, outputs, wanted = ctx.trace.backward_plan(needed)
        tensors = [t if t is not None else o for t, o in zip(ctx.saved_tensors, ctx.others)]
        if ctx.random is None:
            found = plan.run([*tensors, *(seeds[index] for index in outputs)])
        else:
            with torch.random.fork_rng(devices=[]):
                torch.set_rng_state(ctx.random)
                found = plan.run([*tensors, *(seeds[index] for index in outputs)])
        gradients = [None] * len(needed)
        for index, gradient in zip(wanted, found):
            gradients[index] = gradient
        return (None, *gradients)


def _has_gradient(dtype):
    return dtype.is_floating_point or dtype.is_complex


def followed(trace, needed):
    """Which outputs have a gradient by these inputs: those that come from them on a way that no `detach`, no `no_grad`
    and no integer ends."""
    reached = {capture.param for capture, need in zip(trace.captures, needed) if need}
    _follow(trace.staging.record.entry, reached)
    return [isinstance(operand, Value) and operand in reached for operand in trace.operands]


def _follow(region, reached):
    for node in region.nodes:
        if not node.grad or node.op == "aten.detach.default":
            continue
        if node.regions:
            _through_regions(node, reached)
        elif any(value in reached for value in _values(node.args)):
            reached.update(output for output in node.outputs if _is_followed(output.type))


def _through_regions(node, reached):
    """What goes into a branch or loop reaches all of its parameters; twice, for what one round hands to the next."""
    enters = any(value in reached for value in _values(node.args))
    for _ in range(2):
        for region in node.regions:
            if enters:
                reached.update(param for param in region.params if _is_followed(param.type))
            _follow(region, reached)
            enters = enters or any(value in reached for value in _values(region.results))
    if enters:
        reached.update(output for output in node.outputs if _is_followed(output.type))


def _is_followed(type):
    """Numbers have no gradient in torch; lists and tuples may hold what has."""
    return _has_gradient(type.dtype) if isinstance(type, TensorType) else not isinstance(type, str)


def _values(operand):
    if isinstance(operand, Value):
        yield operand
    elif isinstance(operand, (list, tuple)):
        for element in operand:
            yield from _values(element)


def backward_graph(trace, needed):
    """The graph of the backward pass: the plan, the outputs it wants seeds of, the inputs it has gradients of."""
    captures = trace.captures
    outputs = [
        index
        for index, operand in enumerate(trace.operands)
        if isinstance(getattr(operand, "type", None), TensorType) and _has_gradient(operand.type.dtype)
    ]
    wanted = [
        index
        for index, (capture, need) in enumerate(zip(captures, needed))
        if need and capture.fake is not None and _has_gradient(capture.param.type.dtype)
    ]
    graph, exceptions, found = lower.gradient_graph(
        trace.staging,
        [trace.operands[index] for index in outputs],
        [captures[index].param for index in wanted],
    )
    plan = graph.compile(trace.staging.callbacks, exceptions)
    return plan, outputs, [index for index, there in zip(wanted, found) if there]
