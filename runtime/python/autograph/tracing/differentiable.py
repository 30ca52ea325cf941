"""A staged function in a computation that torch differentiates: `loss.backward()` outside reaches what was given to
it and what it captured.

The graph and its gradient are cut into a way forward, which saves what is needed, and a way back. A function that
takes gradients itself is seldom differentiated again: its way back is made when torch asks for it, and runs the graph
once more, with the random numbers as they were.
"""

from contextlib import contextmanager

import torch
from torch.utils import _pytree as pytree

from ..errors import StagingError
from ..record.queries import has_gradient, has_random
from ..record.types import gradient_type, is_differentiable
from . import graphs


def is_needed(tensors):
    return torch.is_grad_enabled() and any(isinstance(t, torch.Tensor) and t.requires_grad for t in tensors)


def run(trace, tensors):
    """The outputs of the graph, as results of these tensors. Torch sees all tensors in lists and tuples."""
    structure = []
    leaves = Differentiable.apply(trace, structure, *tensors)
    return pytree.tree_unflatten(leaves, structure[0])


class Differentiable(torch.autograd.Function):
    @staticmethod
    def forward(ctx, trace, structure, *tensors):
        ctx.trace, ctx.needed = trace, tuple(ctx.needs_input_grad[2:])
        ctx.gradient = trace.gradient(halves, ctx.needed)
        written = {id(capture) for capture in trace.writes}
        kept = range(len(tensors)) if ctx.gradient is None else ctx.gradient.kept
        plain = [t.detach() if isinstance(t, torch.Tensor) else t for t in tensors]
        given = [
            t.clone() if index in kept and id(capture) in written and isinstance(t, torch.Tensor) else t
            for index, (t, capture) in enumerate(zip(plain, trace.captures))
        ]
        if ctx.gradient is None:
            ctx.random = torch.get_rng_state() if has_random(trace.staging.record.entry) else None
            ctx.others = [None if isinstance(t, torch.Tensor) else t for t in tensors]
            ctx.save_for_backward(*(t if isinstance(t, torch.Tensor) else None for t in given))
            outputs = trace.plan.run(plain)
        else:
            # Torch checks that they have not been changed since.
            ctx.save_for_backward(*(given[index] for index in kept if isinstance(given[index], torch.Tensor)))
            outputs, ctx.saved = ctx.gradient.forward.run_saving(given, len(trace.operands))
        leaves, ctx.structure = pytree.tree_flatten(tuple(outputs))
        structure.append(ctx.structure)
        flags = trace.gradient(followed, ctx.needed)
        has = [flag for flag, output in zip(flags, outputs) for _ in pytree.tree_leaves(output)]
        ctx.mark_non_differentiable(
            *(
                leaf
                for leaf, there in zip(leaves, has)
                if isinstance(leaf, torch.Tensor) and not (there and is_differentiable(leaf.dtype))
            )
        )
        return tuple(leaves)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, *seeds):
        tensors, seeds = ctx.saved_tensors, pytree.tree_unflatten(seeds, ctx.structure)
        if ctx.gradient is not None:
            gradient = ctx.gradient
            found = gradient.back.resume(ctx.saved, [seeds[index] for index in gradient.outputs])
        else:
            gradient = ctx.trace.gradient(Whole, ctx.needed)
            inputs = [t if t is not None else o for t, o in zip(tensors, ctx.others)]
            inputs += [seeds[index] for index in gradient.outputs]
            with _random_numbers(ctx.random):
                found = gradient.plan.run(inputs)[len(ctx.trace.operands) :]
        gradients = [None] * len(ctx.needed)
        for index, value in zip(gradient.inputs, found):
            gradients[index] = value
        return (None, None, *gradients)


@contextmanager
def _random_numbers(state):
    """Those of a state, again; what is drawn later is not touched."""
    if state is None:
        yield
        return
    with torch.random.fork_rng(devices=[]):
        torch.set_rng_state(state)
        yield


class _Gradient:
    """The gradient of a trace by those of its inputs that need one. `outputs` are those that have a seed, `inputs`
    those that have a gradient."""

    def __init__(self, trace, needed, is_repeated):
        self.outputs = [
            index
            for index, operand in enumerate(trace.operands)
            if gradient_type(getattr(operand, "type", None)) is not None
        ]
        wanted = [
            index
            for index, (capture, need) in enumerate(zip(trace.captures, needed))
            if need and gradient_type(capture.param.type) is not None
        ]
        self.graph, self.exceptions, found = graphs.gradient_graph(
            trace.staging,
            trace.operands,
            [trace.operands[index] for index in self.outputs],
            [trace.captures[index].param for index in wanted],
            is_repeated,
        )
        self.inputs = [index for index, there in zip(wanted, found) if there]


class Whole(_Gradient):
    """In one graph, with all that leads to it."""

    def __init__(self, trace, needed):
        super().__init__(trace, needed, is_repeated=True)
        self.plan = self.graph.compile(trace.staging.callbacks, self.exceptions)


class Halves(_Gradient):
    """A way forward and a way back. `kept` are the inputs that the way back reads."""

    def __init__(self, trace, needed):
        super().__init__(trace, needed, is_repeated=False)
        *graphs, self.kept = self.graph.halves(len(trace.operands), len(self.outputs))
        self.forward, self.back = (graph.compile(trace.staging.callbacks, self.exceptions) for graph in graphs)


def followed(trace, needed):
    """Which outputs have a gradient by these inputs: no `detach`, `no_grad` or number is on all ways to them."""
    return trace.graph.followed([index for index, need in enumerate(needed) if need])


def halves(trace, needed):
    """None where the way back is left for later: the trace takes gradients itself, what is saved would be in lists
    that are returned, or there is no derivative, which is said when it is asked for."""
    if has_gradient(trace.staging.record.entry):
        return None
    try:
        return Halves(trace, needed)
    except (RuntimeError, StagingError):
        return None
