"""Fake tensors: tensors with a type and sizes, but no data.

`Mode` extends torch's mode for `FakeTensor`s and avoids two slow parts of torch: torch imports `torch._dynamo` when it
creates a mode and when it first calls one, and it sets about 30 attributes of each tensor one by one.
"""

import logging
import sys
from contextlib import contextmanager
from functools import cached_property, lru_cache

import torch
import torch._functorch.config
from torch._subclasses.fake_impls import has_meta, op_implementations_checks
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorConverter, FakeTensorMode
from torch.nested._internal import nested_tensor
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from . import dynamo

CPU = torch.device("cpu")

_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)


@lru_cache(maxsize=None)
def _is_direct(func):
    """Returns whether this is an operator of ATen that returns new tensors, and for which torch has no special code for fake
    tensors."""
    if not isinstance(func, torch._ops.OpOverload) or func.namespace != "aten" or func._schema.is_mutable or func.is_view:
        return False
    if not has_meta(func) or any(is_special(func) for is_special, _ in op_implementations_checks):
        return False
    return not torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd")


def called_without_dynamo(method):
    """Returns a `__torch_dispatch__` for a mode. `torch.compile` must not trace the code of the mode. Torch's wrapper
    prevents this, but imports `torch._dynamo`, so it is called only if the program has already imported that module.
    The method `_should_skip_dynamo` of the class prevents torch from adding its wrapper itself."""
    wrapped = torch._disable_dynamo(method, recursive=True)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        call = wrapped if "torch._dynamo" in sys.modules else method
        return call(self, func, types, args, kwargs or {})

    return __torch_dispatch__


@contextmanager
def _without_log():
    """Within a block, disables torch's log of errors in shape functions: a trace handles these errors, or raises them at the
    user's line."""
    before, _LOG.disabled = _LOG.disabled, True
    try:
        yield
    finally:
        _LOG.disabled = before


_LOG = logging.getLogger("torch._subclasses.fake_tensor")


class Mode(FakeTensorMode):
    """A mode with the attributes that torch's constructor sets. `shapes()` creates its `ShapeEnv`, when the first symbol for
    a size is needed."""

    def __init__(self, shapes):
        TorchDispatchMode.__init__(self)
        settings = torch._functorch.config
        self._shapes = shapes
        self.allow_fallback_kernels = True
        self.propagate_real_tensors = settings.fake_tensor_propagate_real_tensors
        self.fake_tensor_converter = FakeTensorConverter(copy_data=self.propagate_real_tensors, export=False)
        self.static_shapes = False
        self.allow_scalar_outputs = False
        self._allow_unsafe_data_ptr_access = settings.fake_tensor_allow_unsafe_data_ptr_access
        if self._allow_unsafe_data_ptr_access:
            self._refuse_pointer = torch._C._set_warn_deprecated_on_mutable_data_ptr
        else:
            self._refuse_pointer = torch._C._set_throw_on_mutable_data_ptr
        self.allow_meta = settings.fake_tensor_allow_meta
        self.cache_enabled = not self.propagate_real_tensors
        self.cache_crosscheck_enabled = False
        self.allow_non_fake_inputs = True
        self.in_kernel_invocation = False
        self.enter_stack = []
        self._stack_trace, self._stack = [], None
        self._mode_key = torch._C._TorchDispatchModeKey.FAKE
        self.nt_tensor_id_initial_count = self.nt_tensor_id_counter = nested_tensor._tensor_id_counter
        with torch._C._DisableTorchDispatch(), torch._C.DisableTorchFunction():
            self._attributes = dict(FakeTensor(self, torch.empty(0, device="meta"), CPU).__dict__)

    @cached_property
    def shape_env(self):
        return self._shapes()

    @classmethod
    def _should_skip_dynamo(cls):
        return False

    @called_without_dynamo
    def __torch_dispatch__(self, func, types, args, kwargs):
        return self.dispatch(func, types, args, kwargs)

    def dispatch(self, func, types, args=(), kwargs=None):
        """Computes the type and sizes of an operator's result. If possible, this omits the many tests that torch makes
        first."""
        kwargs = kwargs or {}
        if not _is_direct(func) or not self._are_known(pytree.arg_tree_leaves(*args, **kwargs)):
            return self._dispatched_by_torch(func, types, args, kwargs)
        try:
            with torch._C._DisableTorchDispatch(), torch._C.DisableTorchFunction(), dynamo.absent(func):
                result = self._in_kernel(func, args, kwargs)
                return pytree.tree_map_only(torch.Tensor, lambda part: self._fake(part, CPU), result)
        except NotImplementedError:
            return self._dispatched_by_torch(func, types, args, kwargs)  # calls the operator with tensors of zeros

    def _dispatched_by_torch(self, func, types, args, kwargs):
        with _without_log(), dynamo.absent(func):
            return super().dispatch(func, types, args, kwargs)

    def _are_known(self, leaves):
        """Returns whether at least one of the leaves is a tensor, and all tensors are on the CPU and have known sizes."""
        tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        return bool(tensors) and all(map(self._is_known, tensors)) and not any(isinstance(leaf, _SYMBOLIC) for leaf in leaves)

    def _is_known(self, tensor):
        if type(tensor) is not FakeTensor or tensor.fake_mode is not self or tensor.constant is not None:
            return False
        return tensor.fake_device == CPU and not tensor._has_symbolic_sizes_strides and tensor.layout is torch.strided

    def empty(self, size, stride, dtype, device):
        """Returns a tensor; contiguous if `stride` is None."""
        with torch._C._DisableTorchDispatch(), torch._C.DisableTorchFunction():
            if stride is None:
                return self._fake(torch.empty(size, dtype=dtype, device="meta"), device)
            return self._fake(torch.empty_strided(size, stride, dtype=dtype, device="meta"), device)

    def _fake(self, meta, device):
        if device != CPU:
            return FakeTensor(self, meta, device)
        fake = torch.Tensor._make_subclass(FakeTensor, meta, False, dispatch_device=True, device_for_backend_keys=device)
        self._refuse_pointer(fake)
        fake.__dict__.update(self._attributes)
        return fake

    def view(self, func, args, kwargs):
        """Returns the result of an operator that returns views of its first argument. All sizes are known."""
        with torch._C._DisableTorchDispatch(), torch._C.DisableTorchFunction():
            result, device = self._in_kernel(func, args, kwargs), args[0].fake_device
            if isinstance(result, (list, tuple)):
                return [self._fake(part, device) for part in result]
            return result if result is args[0] else self._fake(result, device)

    def _in_kernel(self, func, args, kwargs):
        """Calls an operator on tensors without data."""
        with torch._C._PreserveDispatchKeyGuard():
            self.in_kernel_invocation = True
            torch._C._set_meta_in_tls_dispatch_include(True)
            try:
                return func(*args, **kwargs)
            finally:
                self.in_kernel_invocation = False
