"""Sets up the interception of torch while a function is traced."""

import logging
from contextlib import contextmanager

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from ..capture import texts
from ..capture.staging import staging_of
from ..operators import calls
from ..operators.optimizers import before_step
from . import custom
from .dispatch import Recorder
from .functions import Interception

_SHAPES_LOG = logging.getLogger("torch._subclasses.fake_tensor")


@contextmanager
def recording(staging):
    """Torch operations are recorded."""
    with staging_of(staging), Recorder(staging), Interception(staging):
        yield


@contextmanager
def tracing(staging):
    """Torch operations are recorded, and torch's own code calls ours for modules, functions with a `backward` of their
    own, optimizers and formatted numbers."""
    torch.nn.Module.__call__, module_call = calls.staged_module_call, torch.nn.Module.__call__
    torch.autograd.Function.apply, apply = classmethod(custom.apply), torch.autograd.Function.__dict__["apply"]
    hook = register_optimizer_step_pre_hook(before_step)
    _SHAPES_LOG.disabled, disabled = True, _SHAPES_LOG.disabled  # the exception has the same text
    try:
        with recording(staging), texts.formatting():
            yield
    finally:
        torch.nn.Module.__call__ = module_call
        torch.autograd.Function.apply = apply
        hook.remove()
        _SHAPES_LOG.disabled = disabled
