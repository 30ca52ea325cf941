"""Functions that change a setting of torch. A graph cannot change settings."""

import functools

import torch

from ..capture.staging import current
from ..conversion import spans
from ..errors import StagingError
from .overloads import OVERLOADS

_SETTERS = (
    torch.set_default_dtype, torch.set_default_device, torch.set_default_tensor_type, torch.use_deterministic_algorithms,
    torch.set_deterministic_debug_mode, torch.set_float32_matmul_precision,
)  # fmt: skip


def _set(setter, *args, **keywords):
    if current() is None:
        return setter(*args, **keywords)
    message = f"`torch.{setter.__name__}` changes a setting of torch, which a graph cannot do"
    raise StagingError(f"{message}\nhelp: call it outside of the staged function", spans.current())


OVERLOADS.update({setter: functools.partial(_set, setter) for setter in _SETTERS})
