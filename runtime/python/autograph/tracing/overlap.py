"""Inputs that share memory. The graph treats its inputs as independent, so no input may share memory with an input that
is written in place."""

import torch

from .._runtime import share_storage
from ..errors import StagingError


def check(name, place, captures, tensors, written):
    """Raises an error if an input shares memory with one that the graph of `name`, defined at `place`, writes to."""
    if not share_storage(tensors):
        return
    storages = {}
    for capture, tensor in zip(captures, tensors):
        if isinstance(tensor, torch.Tensor) and tensor.numel():
            storages.setdefault(tensor.untyped_storage().data_ptr(), []).append((capture, tensor))
    for sharing in storages.values():
        for capture, tensor in sharing:
            if len(sharing) == 1 or capture not in written:
                continue
            for other, with_it in sharing:
                if other is not capture and _overlap(tensor, with_it):
                    raise StagingError(
                        f"`{name}` changes {_description(capture)} in place, which shares memory with "
                        f"{_description(other)}: "
                        "pass a copy of one of them: `.clone()`",
                        place,
                    )


def _overlap(a, b):
    (first, last), (start, stop) = _range(a), _range(b)
    return first < stop and start < last


def _range(tensor):
    """Returns the range of bytes in the storage that a tensor occupies."""
    reach = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
    start = tensor.storage_offset() * tensor.itemsize
    return start, start + reach * tensor.itemsize


def _description(capture):
    return f"`{capture.path}`" if capture.path else "a tensor from outside"
