"""Ambient state: settings of torch that are in effect when a function is called. They are part of the key of a trace.

Most settings are read at once, as one number: gradients enabled, inference mode, anomaly mode, default dtype,
deterministic algorithms, and the kernels that may be used (oneDNN, cuDNN, kinds of attention). Other settings are
seldom active and are read separately: autocast, the default device, modes, transforms, and the rank among the processes
of torch.distributed."""

from contextlib import contextmanager, nullcontext

import torch
from torch.autograd import forward_ad
from torch.utils._device import DeviceContext

from .._runtime import ambient
from ..capture.pausing import PausedMode
from ..errors import StagingError
from .tracebacks import line_outside


#: The state of torch.distributed; None if torch was built without it.
_WORLD = torch.distributed.distributed_c10d._world if torch.distributed.is_available() else None


def key():
    """Returns the ambient state as part of a key."""
    found = ambient()
    group = None if _WORLD is None else _WORLD.default_pg
    place = () if group is None else (group.rank(), group.size())
    if found & 1 or forward_ad._current_level >= 0:
        return (found, *place, *_casts(), *_modes(), *_transforms())
    return (found, *place) if place else found


def has_group():
    """Returns whether this process belongs to a group of torch.distributed."""
    return _WORLD is not None and _WORLD.default_pg is not None


@contextmanager
def kept(restores_random, span):
    """Restores the settings, and optionally the random number generator, at the end of this block. Raises an error at
    `span` if the block has changed a setting, because runs of its graph would not change it."""
    before, grad, dtype = key(), torch.is_grad_enabled(), torch.get_default_dtype()
    try:
        with torch.random.fork_rng() if restores_random else nullcontext():
            yield
        if key() != before:
            message = "this function changes a setting of torch, which a graph cannot do"
            raise StagingError(f"{message}\nhelp: change the setting in a `with` block, or outside", span)
    finally:
        torch.set_grad_enabled(grad)
        if torch.get_default_dtype() != dtype:
            torch.set_default_dtype(dtype)


def _casts():
    enabled = [
        (kind, torch.get_autocast_dtype(kind))
        for kind in torch._C._autocast_supported_devices()
        if torch.is_autocast_enabled(kind)
    ]
    return [torch.is_autocast_cache_enabled(), *enabled] if enabled else []


def _modes():
    """Yields the default device. Other modes are refused, because they would intercept the operations of the trace, but not
    the operations of the graph."""
    for index in range(torch._C._len_torch_function_stack()):
        mode = torch._C._get_function_stack_at(index)
        if isinstance(mode, PausedMode):
            continue
        if not isinstance(mode, DeviceContext):
            raise _refusal(f"the mode `{type(mode).__name__}` is active, and a graph does not call it")
        yield "device", str(mode.device)
    for index in range(torch._C._len_torch_dispatch_stack()):
        mode = torch._C._get_dispatch_stack_at(index)
        raise _refusal(f"the mode `{type(mode).__name__}` is active, and a graph does not call it")


def _transforms():
    if forward_ad._current_level >= 0:
        raise _refusal("a level of forward-mode derivatives is active, and a graph has no tangents")
    return [str(interpreter.key()) for interpreter in torch._C._functorch.get_interpreter_stack() or ()]


def _refusal(reason):
    help = "call it outside, or call `ag.run_functions_eagerly()` before"
    return StagingError(f"a staged function cannot be called here: {reason}\nhelp: {help}", line_outside())
