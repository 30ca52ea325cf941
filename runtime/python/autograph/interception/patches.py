"""Sets up the interception of torch while a function is traced."""

import logging
from contextlib import ExitStack, contextmanager

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils import _pytree as pytree

from ..capture.staging import staging_of
from ..operators import calls
from ..operators.optimizers import after_step, before_step
from . import collectives, custom, module_changes, module_hooks, structures
from .dispatch import Recorder
from .functions import Interception, as_subclass

_SHAPES_LOG = logging.getLogger("torch._subclasses.fake_tensor")

# These hooks stay registered: a trace of `Optimizer.step` reads torch's list of hooks, and is valid only as long as the list
# is the same. While nothing is traced, the hooks do nothing.
register_optimizer_step_pre_hook(before_step)
register_optimizer_step_post_hook(after_step)


@contextmanager
def recording(staging):
    """Records torch operations in a block."""
    with staging_of(staging), Recorder(staging), Interception(staging):
        yield


def _no_cache(enabled):
    """Does nothing. While tracing, it replaces torch's function that enables the cache of autocast. The cache keeps
    casts of parameters. A cast from a trace has no data, so eager code and other staged branches must not find it."""


class _InferenceMode:
    """Replaces inference mode while tracing: it only switches gradients off. In inference mode itself, torch cannot make a
    view without data of a tensor from outside of it."""

    is_enabled = False

    def __init__(self, enabled):
        self.enabled = enabled

    def __enter__(self):
        self.before, _InferenceMode.is_enabled = _InferenceMode.is_enabled, self.enabled
        self.gradients = torch.no_grad() if self.enabled else torch.enable_grad()
        self.gradients.__enter__()

    def __exit__(self, *exception):
        self.gradients.__exit__(*exception)
        _InferenceMode.is_enabled = self.before


@contextmanager
def _without_inference_mode():
    mode, is_enabled = torch._C._InferenceMode, torch.is_inference_mode_enabled
    with ExitStack() as stack:
        if is_enabled():
            stack.enter_context(torch.inference_mode(False))
            stack.enter_context(_InferenceMode(True))
        torch._C._InferenceMode, torch.is_inference_mode_enabled = _InferenceMode, lambda: _InferenceMode.is_enabled
        try:
            yield
        finally:
            torch._C._InferenceMode, torch.is_inference_mode_enabled = mode, is_enabled


@contextmanager
def tracing(staging):
    """Records torch operations. Torch's own code calls this package for modules and their backward hooks, functions with
    their own `backward`, formatted numbers, and nested containers. Autocast has no cache, functional collectives return plain
    tensors, and there is no inference mode."""
    torch.nn.Module.__call__, module_call = calls.staged_module_call, torch.nn.Module.__call__
    torch.autograd.Function.apply, apply = classmethod(custom.apply), torch.autograd.Function.__dict__["apply"]
    function = torch.autograd.function
    function._is_setup_context_defined, defined = custom.has_setup_context, function._is_setup_context_defined
    hook, apply_on_tensors = torch.utils.hooks.BackwardHook, torch.utils.hooks.BackwardHook._apply_on_tensors
    hook._apply_on_tensors = module_hooks.apply_on_tensors
    pytree._get_node_type, node_type = structures.node_type, pytree._get_node_type
    method = torch.Tensor.__dict__.get("as_subclass")  # None before the trace: a base class defines it
    torch.Tensor.as_subclass = as_subclass
    torch.set_autocast_cache_enabled, set_cache = _no_cache, torch.set_autocast_cache_enabled
    cached = torch.is_autocast_cache_enabled()
    torch.clear_autocast_cache()
    set_cache(False)
    _SHAPES_LOG.disabled, disabled = True, _SHAPES_LOG.disabled  # torch's log would repeat the text of an exception
    try:
        with _without_inference_mode(), recording(staging), collectives.plain_results(), module_changes.noted():
            yield
    finally:
        torch.nn.Module.__call__ = module_call
        torch.autograd.Function.apply = apply
        if method is None:
            del torch.Tensor.as_subclass
        else:
            torch.Tensor.as_subclass = method
        function._is_setup_context_defined = defined
        hook._apply_on_tensors = apply_on_tensors
        pytree._get_node_type = node_type
        torch.set_autocast_cache_enabled = set_cache
        set_cache(cached)
        _SHAPES_LOG.disabled = disabled
