"""Hooks that users register on leaves. The graph calls them for gradients that the function computes."""

from ..conversion import spans
from ..errors import StagingError
from ..record.queries import accumulation_order
from ..record.types import TensorType


class Hooks:
    """The hooks of a tensor that the graph captures. A trace is valid either for tensors with hooks or for tensors
    without hooks. Each run calls the hooks that the tensor has at that time."""

    def __init__(self, capture):
        self.capture = capture
        self.exist = bool(self._current())

    def _current(self):
        return self.capture.current_value()._backward_hooks

    def is_changed(self):
        return bool(self._current()) != self.exist

    def __call__(self, gradient):
        for hook in list(self._current().values()):
            result = hook(gradient)
            gradient = gradient if result is None else result
        return (gradient,)


def order(staging, inputs, values, outputs):
    """Returns the indexes of the inputs in the order in which autograd calls their hooks."""
    captures = [staging.view_of(tensor).base.source for tensor in inputs]
    if sum(capture is not None and bool(capture.tensor._backward_hooks) for capture in captures) < 2:
        return range(len(inputs))
    return accumulation_order(staging.record, values, outputs)


def called(staging, view, gradient):
    """Returns the gradient after the tensor's hooks were applied."""
    capture = view.base.source
    if capture is None or view.chain:
        return gradient
    tensor = capture.tensor
    if getattr(tensor, "_post_accumulate_grad_hooks", None):
        raise _refusal("a hook that runs after a gradient was accumulated", "`.grad`")
    if capture.path is not None:
        if tensor._backward_hooks:
            raise _refusal(f"a hook of the argument `{capture.path}`", "the gradient")
        return gradient
    hooks = staging.gradients.hooks.setdefault(capture, Hooks(capture))
    if not hooks.exist:
        return gradient
    type = TensorType(gradient.dtype, gradient.__dict__["_ag_view"].value.type.dims, gradient.device)
    return staging.fresh(staging.call_python(hooks, [staging.value_of(gradient)], [type])[0])


def _refusal(what, of):
    return StagingError(f"{what} cannot be staged\nhelp: change {of} after the gradient is computed", spans.current())
