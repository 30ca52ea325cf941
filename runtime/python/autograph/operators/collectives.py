"""Collectives of `torch.distributed` in a graph: each is a call of Python that starts it, and one that waits for it.

Both are effects of the graph: they are neither removed nor merged nor reordered, so that all ranks that run the same code
execute the same collectives in the same order. The optimizer's pass `early-collectives` moves the first call up to
where its operands are known. `record/waits.py` moves the second call down to the first use of the result. So the
operations between the two calls run at the same time as the collective.

A run calls the same function of torch as the program, with the same tensors. So its results are bitwise equal to those
of eager torch, and one rank may run a graph while another rank runs Python."""

import functools

import torch

from ..capture import gradients
from ..capture.staging import current
from ..conversion import spans
from ..errors import StagingError
from ..record.types import TensorType, is_differentiable
from . import processes
from .overloads import OVERLOADS

_LIBRARY = torch.library.Library("autograph", "FRAGMENT")
_LIBRARY.define("collected(Tensor result, Tensor input, int number) -> Tensor")

#: The type of the result of a collective that returns nothing: an empty tensor, because the wait needs an operand.
_TOKEN = TensorType(torch.float32, (0,), torch.device("cpu"))


class Group:
    """A process group, identified by its name. A run uses the current group of this name, because the group may have been
    destroyed and created again since the trace."""

    def __init__(self, group):
        self.name = group.group_name
        self.place = group.rank(), group.size()

    def now(self):
        group = torch.distributed.distributed_c10d._resolve_process_group(self.name)
        if (group.rank(), group.size()) != self.place:
            was, size = self.place
            message = f"the process group `{self.name}` has changed since this function was traced as rank {was} of {size}"
            raise RuntimeError(f"{message}; create the function with `@ag.function` again")
        return group


def emit(staging, start, wait, operands, types):
    """Records a collective. In a run, `start(*operands)` starts the collective. It returns the tensors of the result,
    which have these types, and an object with which `wait(object)` is called later. Returns the values of the
    results."""
    types = list(types)
    processes.register()

    def started(*values):
        with torch.no_grad(), processes.named():
            tensors, work = start(*values)
        tensors = list(tensors) or [torch.empty(0)]
        tensors[0].collective = work  # torch keeps the attributes of a tensor while a graph holds it
        return tuple(tensors)

    def waited(*tensors):
        work, tensors[0].collective = tensors[0].collective, None
        with torch.no_grad(), processes.named():
            wait(work)
        return tensors

    given = staging.call_python(started, operands, types or [_TOKEN], collective="start")
    found = staging.call_python(waited, given, types or [_TOKEN], collective="wait")
    return found if types else []


def differentiable(staging, result, input, adjoint):
    """Returns the result of a collective, with a derivative with respect to the input. `adjoint` takes the gradient of the
    result and returns the gradient of the input; it may execute collectives."""
    if not torch.is_grad_enabled() or not (is_differentiable(result.dtype) and is_differentiable(input.dtype)):
        return result
    if not staging.depth and not gradients.requires_grad(staging, input):
        return result
    staging.adjoints.append(adjoint)
    return torch.ops.autograph.collected(result, input, len(staging.adjoints) - 1)


def without_derivative(message):
    """Returns an adjoint that raises an error at the line of the collective."""
    span = spans.current()

    def adjoint(gradient):
        raise StagingError(message, span)

    return adjoint


def _backward(ctx, gradient):
    return None, current().adjoints[ctx.number](gradient.contiguous()), None


def _setup(ctx, inputs, output):
    ctx.number = inputs[2]


def _refused(name, reason, help):
    """Registers a function of `torch.distributed` that staged code must not call."""
    original = getattr(torch.distributed, name, None)
    if original is None:  # torch was built without it
        return

    @functools.wraps(original)
    def overload(*args, **kwargs):
        if current() is None:
            return original(*args, **kwargs)
        raise StagingError(f"`torch.distributed.{name}` cannot be staged: {reason}\nhelp: {help}", spans.current())

    OVERLOADS[original] = overload


for _name in (
    "all_gather_object", "broadcast_object_list", "gather_object", "scatter_object_list", "send_object_list",
    "recv_object_list",
):  # fmt: skip
    _help = "call it outside of the staged function, or call a function that calls it with `ag.py_function`"
    _refused(_name, "it pickles Python objects, which a graph does not hold", _help)
for _name in ("init_process_group", "destroy_process_group", "new_group"):
    _refused(_name, "it would run once, while the function is traced", "call it before the staged function")

_LIBRARY.impl("collected", lambda result, input, number: result.clone(), "CompositeExplicitAutograd")
torch.library.register_autograd("autograph::collected", _backward, setup_context=_setup, lib=_LIBRARY)
