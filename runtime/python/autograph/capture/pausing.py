"""Pauses a trace for code that runs in Python: an `ag.init_scope`, and functions with `functools.lru_cache`."""

from contextlib import nullcontext

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _disable_current_modes

from ..conversion import spans
from ..errors import StagingError
from . import permanent
from .staging import USED_WHILE_PAUSED, current, is_staged, is_staged_tensor, staging_of

_T = torch.Tensor

#: Properties of a staged tensor that are known while tracing.
_METADATA = {
    _T.shape.__get__, _T.dtype.__get__, _T.device.__get__, _T.ndim.__get__, _T.layout.__get__, _T.size, _T.dim,
    _T.numel, _T.ndimension, _T.nelement, _T.is_floating_point, _T.is_complex,
}  # fmt: skip


class OfTrace(TorchFunctionMode):
    """The base class of the modes that record a trace. They are inactive while the trace is paused."""


class PausedMode(TorchFunctionMode):
    """A mode that raises an error for operations on staged tensors of a trace. All other operations run in eager torch."""

    def __init__(self, staging):
        super().__init__()
        self.staging = staging

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        staged = [value for value in pytree.tree_leaves((args, kwargs)) if self._is_of_trace(value)]
        if not staged:
            return func(*args, **kwargs)
        if func in _METADATA:
            with torch._C.DisableTorchFunction():
                found = func(*args, **kwargs)
            if not any(isinstance(part, torch.SymInt) for part in pytree.tree_leaves(found)):
                return found
        raise StagingError(USED_WHILE_PAUSED, spans.current())

    def _is_of_trace(self, value):
        if is_staged_tensor(value):
            return value.fake_mode is self.staging.fake_mode
        return is_staged(value) and value.node.staging is self.staging


class Paused:
    """Pauses the trace for a block. Changes of Python state in the block are not undone: they are treated as if they had been
    made before the call. `what` names the block in errors. A trace in which the block has changed state is valid for one
    call; with `is_once`, this applies only to the first trace."""

    def __init__(self, what, is_once=True):
        self._what = what
        self._is_once = is_once

    def __enter__(self):
        self._staging = staging = current()
        if staging is None:
            return self
        staging.objects.before_pause()
        self._items = staging.outer_lists.items()
        self._modes = _popped_modes()
        for mode in self._modes:
            if not isinstance(mode, OfTrace):
                torch._C._push_on_torch_function_stack(mode)
        allowed = nullcontext() if permanent.may_abandon() else permanent.allowed()
        self._contexts = [allowed, _disable_current_modes(), PausedMode(staging), staging_of(None)]
        for context in self._contexts:
            context.__enter__()
        staging.is_paused = True
        self._random = torch.get_rng_state()
        return self

    def __exit__(self, *error):
        staging = self._staging
        if staging is None:
            return
        random = torch.get_rng_state()
        if not torch.equal(random, self._random):
            staging.random_after = random
        staging.is_paused = False
        for context in reversed(self._contexts):
            context.__exit__(None, None, None)
        _popped_modes()
        for mode in self._modes:
            torch._C._push_on_torch_function_stack(mode)
        if staging.objects.after_pause(self._what, lambda: staging.outer_lists.adopt(self._items)):
            staging.changed_while_paused.add(spans.current() if self._is_once else object())


def _popped_modes():
    """Removes the active `TorchFunctionMode`s, and returns them, the outermost first."""
    count = torch._C._len_torch_function_stack()
    return [torch._C._pop_torch_function_stack() for _ in range(count)][::-1]
