"""`Tensor.register_hook`: the tensor passes through an operator whose derivative calls the hook."""

import torch

from ..capture import gradients
from ..conversion import spans
from ..errors import NeedsPython
from ..record.queries import is_used
from .custom import Context, differentiable


def register_hook(staging, func, tensor, hook):
    """Implements `Tensor.register_hook`: replaces the tensor by the result of an operator that copies it and has the hook as
    its derivative."""
    view = staging.view_of(tensor)
    if view.base.source is not None or view.chain or gradients.is_leaf(staging, tensor):
        raise NeedsPython("a hook of this tensor cannot be staged\nhelp: register it outside of the function", spans.current())
    if not gradients.requires_grad(staging, tensor):
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if is_used(staging.record, view.base.value):
        message = "a hook is registered after its tensor was used"
        raise NeedsPython(f"{message}\nhelp: register it when the tensor is made", spans.current())

    def backward(_, gradient):
        found = hook(gradient)
        return gradient if found is None else found

    context = Context()
    context.needs_input_grad = (True,)
    with torch._C._AutoDispatchBelowAutograd():
        (hooked,) = differentiable("hook", backward, context, [tensor.detach()], [tensor])
    view.base.value = staging.value_of(hooked)
    view.base.version += 1
    return Handle()


class Handle:
    """The handle that `register_hook` returns."""

    def remove(self):
        raise NeedsPython("a hook that is registered in staged code cannot be removed", spans.current())
