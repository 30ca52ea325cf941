"""`Module.register_full_backward_hook`: the inputs and outputs of the module pass through operators whose derivatives call the
hooks when the graph runs.

Torch copies the inputs and outputs, and attaches the hooks to the autograd nodes of the copies. A trace has no such
nodes."""

import torch
from torch.utils.hooks import BackwardHook

from ..capture import gradients
from ..capture.staging import current
from ..record.types import is_differentiable
from .custom import Context, differentiable

_apply_on_tensors = BackwardHook._apply_on_tensors


class _Node:
    """Stands for the autograd node of the copies. Torch registers one hook on it, which calls the user's hooks. Like
    torch's node, it gives this hook None for outputs without gradient, and zeros for inputs without gradient."""

    def register_hook(self, hook):
        self.hook = hook


def apply_on_tensors(hooks, attach, args):
    """Replaces `BackwardHook._apply_on_tensors` while tracing. Returns the arguments with copies of the tensors, and the
    indexes of the tensors; None in place of the indexes if no tensor requires a gradient. Calls `attach(node)`."""
    staging = current()
    if staging is None:
        return _apply_on_tensors(hooks, attach, args)
    places = [place for place, arg in enumerate(args) if isinstance(arg, torch.Tensor)]
    needed = [
        place
        for place in places
        if is_differentiable(args[place].dtype) and gradients.requires_grad(staging, args[place])
    ]
    if not (needed and torch.is_grad_enabled()):
        return args, None
    node = _Node()
    attach(node)

    others = [place for place in places if place not in needed]

    def backward(context, *found):
        found = dict(zip(needed, found))
        zeros = dict(zip(others, map(torch.zeros_like, context.saved_tensors)))
        of_inputs = tuple(found[place] if place in found else zeros[place] for place in places)
        of_outputs = tuple(found.get(place) for place in places)
        result = node.hook(of_inputs, of_outputs)
        if result is None:
            return tuple(found.values())
        return tuple(gradient for place, gradient in zip(places, result) if place in found)

    context = Context()
    context.needs_input_grad = (True,) * len(needed)
    context.save_for_backward(*(args[place].detach() for place in others))
    tensors = [args[place] for place in needed]
    with torch._C._AutoDispatchBelowAutograd():
        copies = differentiable("hook", backward, context, [t.detach() for t in tensors], tensors, in_graph=False)
    copied = list(args)
    for place, copy in zip(needed, copies):
        copied[place] = copy
    return (tuple(copied) if type(args) is tuple else type(args)(*copied)), places
