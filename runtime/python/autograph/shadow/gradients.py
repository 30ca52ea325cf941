"""The gradients of a staged function's result and of eager Python's result, with respect to all tensors that require
gradients."""

import contextlib

import torch
from torch.utils import _pytree as pytree


def of_results(graph, eager, leaves):
    """Yields for each leaf its index, its gradient in the graph, and its gradient in eager Python. Both results have
    the same structure."""
    outputs = [
        (a, b)
        for a, b in zip(pytree.tree_leaves(graph), pytree.tree_leaves(eager))
        if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor) and a.requires_grad and b.requires_grad
    ]
    inputs = [leaf for *_, leaf in leaves]
    try:
        theirs = _gradients([b for _, b in outputs], inputs)
    except RuntimeError:  # in eager Python, the function has freed the history of the result
        outputs = [pair for pair in outputs if _has_gradient(pair[1], inputs)]
        theirs = _gradients([b for _, b in outputs], inputs)
    edges = [edge for _, edge, _ in leaves]
    theirs = _by_originals(theirs, edges)
    mine = _gradients([a for a, _ in outputs], edges)
    for index, pair in enumerate(zip(mine, theirs)):
        yield index, *pair


def _by_originals(gradients, edges):
    """Returns the gradients of eager Python with respect to the caller's tensors. If the caller computed a tensor `b` from a
    tensor `a`, the gradient of `b` is propagated to `a`, because the copies of both do not depend on each other."""
    if all(isinstance(edge, torch.Tensor) for edge in edges):
        return gradients
    known = [(edge, gradient) for edge, gradient in zip(edges, gradients) if gradient is not None]
    if not known:
        return gradients
    ends, seeds = zip(*known)
    with _without_hooks(edges):
        return torch.autograd.grad(ends, edges, seeds, retain_graph=True, allow_unused=True)


def _has_gradient(output, inputs):
    try:
        _gradients([output], inputs)
    except RuntimeError:
        return False
    return True


def _gradients(outputs, inputs):
    if not outputs or not inputs:
        return []
    generator = torch.Generator().manual_seed(0)
    seeds = [torch.rand(output.shape, generator=generator, dtype=torch.float64).to(output) for output in outputs]
    with _without_hooks(inputs):
        return torch.autograd.grad(outputs, inputs, seeds, retain_graph=True, allow_unused=True)


@contextlib.contextmanager
def _without_hooks(tensors):
    """Disables the user's hooks, because the user has not asked for these gradients."""
    hooks = [(t._backward_hooks, dict(t._backward_hooks)) for t in tensors if getattr(t, "_backward_hooks", None)]
    for known, _ in hooks:
        known.clear()
    try:
        yield
    finally:
        for known, before in hooks:
            known.update(before)
