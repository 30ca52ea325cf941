"""Stores the tensors of a graph of objects in a file. Tensors that share memory are stored as views of one tensor."""

import math
from typing import NamedTuple

import torch
from safetensors.torch import _TYPES

from ..errors import CheckpointError
from .kinds import ARRAY, TENSOR

#: The dtypes of the format. Others are stored as bytes.
_STORED = frozenset(_TYPES.values())
_DTYPES = {str(dtype)[6:]: dtype for dtype in vars(torch).values() if isinstance(dtype, torch.dtype)}
_QUANTIZED = frozenset((torch.quint8, torch.qint8, torch.qint32, torch.quint4x2, torch.quint2x4))

#: The alignment of the memory that several tensors share.
_ALIGNMENT = 16


class Stored(NamedTuple):
    """An entry for a tensor of the program: the tensor of the file with this name, or, if `offset` (in bytes) is not None, a
    view of it. Strides are in elements."""

    name: str
    dtype: str
    shape: tuple
    stride: tuple
    offset: int | None


def store(graph):
    """Returns the tensors of the file by name, and the entry of each node."""
    file, entries, groups = {}, {}, {}
    for node in graph.nodes:
        if node.kind == ARRAY:
            name = _unique(file, node.path)
            file[name] = _bytes_of_array(node.object)
            entries[node.id] = name
        elif node.kind == TENSOR:
            tensor = _checked(node)
            memory = tensor.untyped_storage().data_ptr() if tensor.numel() else 0
            groups.setdefault((str(tensor.device), memory) if memory else node.id, []).append((node, tensor))
    for group in groups.values():
        node, tensor = group[0]
        if len(group) == 1:
            name = _unique(file, node.path)
            file[name] = _portable(tensor)
            entries[node.id] = Stored(name, _name(tensor.dtype), tuple(tensor.shape), _dense_stride(tensor), None)
        else:
            _store_shared(file, entries, group)
    return file, entries


def _checked(node):
    tensor = node.object.detach()
    if tensor.layout is not torch.strided or tensor.dtype in _QUANTIZED or tensor.is_nested or tensor.is_meta:
        kind = "on the meta device" if tensor.is_meta else f"of layout {tensor.layout} and {tensor.dtype}"
        raise CheckpointError(f"`{node.path}` is a tensor {kind}, which a checkpoint cannot hold")
    return tensor.resolve_conj().resolve_neg()


def _store_shared(file, entries, group):
    """Adds the entries of tensors that share memory. The memory is stored once."""
    ranges = [_range(tensor) for _, tensor in group]
    start, end = min(low for low, _ in ranges), max(high for _, high in ranges)
    whole = [pair for pair, found in zip(group, ranges) if found == (start, end) and pair[1].is_contiguous()]
    if whole:
        node, tensor = whole[0]
        name = _unique(file, node.path)
        file[name] = _portable(tensor)
    else:
        start -= start % _ALIGNMENT
        name = _unique(file, f"{group[0][0].path}.storage")
        flat = torch.empty(0, dtype=torch.uint8, device=group[0][1].device)
        file[name] = flat.set_(group[0][1].untyped_storage(), start, (end - start,), (1,)).cpu().clone()
    for (node, tensor), (low, _) in zip(group, ranges):
        offset = low - start
        entries[node.id] = Stored(name, _name(tensor.dtype), tuple(tensor.shape), tuple(tensor.stride()), offset)


def _range(tensor):
    """Returns the range of bytes that a tensor uses in its storage."""
    low = tensor.storage_offset() * tensor.itemsize
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
    return low, low + (last + 1) * tensor.itemsize


def _portable(tensor):
    tensor = tensor.contiguous().cpu()
    return tensor if tensor.dtype in _STORED else _bytes(tensor)


def _bytes(tensor):
    tensor = tensor.contiguous().reshape(-1)
    return (torch.view_as_real(tensor).reshape(-1) if tensor.is_complex() else tensor).view(torch.uint8)


def _bytes_of_array(array):
    return (
        torch.frombuffer(bytearray(array.tobytes()), dtype=torch.uint8)
        if array.nbytes
        else torch.empty(0, dtype=torch.uint8)
    )


def _dense_stride(tensor):
    """Returns the strides of a new tensor with the same layout and without gaps."""
    return tuple(torch.empty_like(tensor, device="meta").stride())


def _name(dtype):
    return str(dtype).removeprefix("torch.")


def _unique(file, path):
    name = path or "root"
    while name in file or name == "__metadata__":
        name += "'"
    return name


# Reading.


def dtype_of(name):
    return _DTYPES.get(name)


class Loader:
    """The values of saved tensors. Tensors that share memory in the checkpoint are views of one tensor."""

    def __init__(self, file):
        self.file = file
        self._shared = {}

    def value(self, entry):
        """Returns a tensor with the saved value; raises a `ValueError` if the file does not contain it."""
        tensor = self.file.get(entry.name)
        dtype = dtype_of(entry.dtype)
        if tensor is None or dtype is None or dtype in _QUANTIZED:
            raise ValueError(f"there is no tensor `{entry.name}` of dtype {entry.dtype}")
        if entry.offset is not None:
            return self._view(entry, tensor, dtype)
        if tensor.dtype is not dtype:
            if tensor.dtype is not torch.uint8 or tensor.numel() != math.prod(entry.shape) * dtype.itemsize:
                raise ValueError(f"the tensor `{entry.name}` has the dtype {tensor.dtype}, not {dtype}")
            tensor = (
                torch.frombuffer(bytearray(tensor.numpy()), dtype=dtype)
                if tensor.numel()
                else torch.empty(0, dtype=dtype)
            )
            tensor = tensor.reshape(entry.shape)
        if tuple(tensor.shape) != entry.shape:
            raise ValueError(f"the tensor `{entry.name}` has the shape {list(tensor.shape)}, not {list(entry.shape)}")
        if not _is_dense(entry.shape, entry.stride):
            raise ValueError(f"the strides {list(entry.stride)} of the tensor `{entry.name}` are not valid")
        return tensor

    def _view(self, entry, tensor, dtype):
        memory = self._shared.get(entry.name)
        if memory is None:
            memory = self._shared[entry.name] = _bytes(tensor).clone().untyped_storage()
        last = sum((size - 1) * stride for size, stride in zip(entry.shape, entry.stride))
        is_empty = 0 in entry.shape
        if (
            entry.offset % dtype.itemsize
            or not is_empty
            and entry.offset + (last + 1) * dtype.itemsize > memory.nbytes()
        ):
            raise ValueError(f"a view of the tensor `{entry.name}` lies outside of it")
        return torch.empty(0, dtype=dtype).set_(memory, entry.offset // dtype.itemsize, entry.shape, entry.stride)


def _is_dense(shape, stride):
    expected = 1
    for step, size in sorted((step, size) for step, size in zip(stride, shape) if size != 1):
        if size and step != expected:
            return False
        expected *= max(size, 1)
    return True
