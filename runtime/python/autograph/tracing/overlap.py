"""Tensors outside that share memory: a change of one in place would be one of the other, which the graph does not
see."""

import torch

from ..errors import StagingError


def refuse(name, captures, tensors, written):
    """No input of a run may share memory with one that the graph of `name` changes."""
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
                        f"`{name}` changes {_called(capture)} in place, which shares memory with {_called(other)}: "
                        "pass a copy of one, `.clone()`"
                    )


def _overlap(a, b):
    (first, last), (start, stop) = _range(a), _range(b)
    return first < stop and start < last


def _range(tensor):
    """Where its elements lie in the storage, in bytes."""
    reach = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
    start = tensor.storage_offset() * tensor.itemsize
    return start, start + reach * tensor.itemsize


def _called(capture):
    return f"`{capture.path}`" if capture.path else "a tensor from outside"
