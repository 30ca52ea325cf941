"""Functions of torch with effects that a graph does not have: they change a setting, or write a file."""

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


def _save(*args, **keywords):
    if current() is None:
        return _SAVE(*args, **keywords)
    message = "`torch.save` writes a file, which the graph would not repeat"
    raise StagingError(f"{message}\nhelp: call it outside of the staged function, or by `ag.py_function`", spans.current())


_SAVE = torch.save

OVERLOADS.update({setter: functools.partial(_set, setter) for setter in _SETTERS})
OVERLOADS[_SAVE] = _save
