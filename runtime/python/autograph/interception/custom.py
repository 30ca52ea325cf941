"""`torch.autograd.Function`: its `forward` is staged, its `backward` is the derivative.

The results pass through an operator that is defined for the call and whose derivative is `backward`. Like any
derivative of torch, it is captured as a graph when it is needed."""

import itertools

import torch

from ..capture.staging import current

_LIBRARY = torch.library.Library("autograph", "FRAGMENT")
_IDS = itertools.count()
_apply = torch.autograd.Function.apply.__func__


class Context:
    """The context object of `forward` and `backward`."""

    def __init__(self):
        self.saved_tensors = ()
        self.needs_input_grad = ()
        self.materialize_grads = True

    def save_for_backward(self, *tensors):
        self.saved_tensors = tensors

    def mark_non_differentiable(self, *tensors):
        self.non_differentiable = tensors

    def mark_dirty(self, *tensors):
        self.dirty = tensors

    def set_materialize_grads(self, value):
        self.materialize_grads = value


def apply(cls, *args):
    """`Function.apply`, staged."""
    staging = current()
    if staging is None:
        return _apply(cls, *args)
    context = Context()
    context.needs_input_grad = tuple(isinstance(arg, torch.Tensor) for arg in args)
    with torch.no_grad():
        if cls.setup_context is torch.autograd.Function.setup_context:
            result = cls.forward(context, *args)
        else:
            result = cls.forward(*args)
            cls.setup_context(context, args, result)
    outputs = list(result) if isinstance(result, tuple) else [result]
    inputs = [arg for arg in args if isinstance(arg, torch.Tensor)]
    saved = [tensor for tensor in context.saved_tensors if tensor is not None]
    if not torch.is_grad_enabled() or not inputs:
        return result
    results = _operator(cls, context)(outputs, inputs, saved)
    return tuple(results) if isinstance(result, tuple) else results[0]


def _operator(cls, context):
    name = f"{cls.__name__.lower()}_{next(_IDS)}"
    _LIBRARY.define(f"{name}(Tensor[] outputs, Tensor[] inputs, Tensor[] saved) -> Tensor[]")
    _LIBRARY.impl(name, lambda outputs, inputs, saved: [o.clone() for o in outputs], "CompositeExplicitAutograd")
    present = [tensor is not None for tensor in context.saved_tensors]

    def setup(ctx, inputs, output):
        _, _, saved = inputs
        ctx.save_for_backward(*saved)
        ctx.counts = [len(part) for part in inputs]

    def backward(ctx, gradients):
        saved = iter(ctx.saved_tensors)
        context.saved_tensors = tuple(next(saved) if exists else None for exists in present)
        found = cls.backward(context, *gradients)
        found = found if isinstance(found, tuple) else (found,)
        count, _, saved_count = ctx.counts
        required = [gradient for gradient, needed in zip(found, context.needs_input_grad) if needed]
        return [None] * count, required, [None] * saved_count

    torch.library.register_autograd(f"autograph::{name}", backward, setup_context=setup, lib=_LIBRARY)
    return getattr(torch.ops.autograph, name).default
