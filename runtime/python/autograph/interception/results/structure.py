"""Operators that select, move, join or copy elements."""

import math

import torch

from .operands import FLOATS, NUMBERS, broadcast, index_of, is_tensor, overloads


def _cat(tensors, dim):
    if len({tensor.dtype for tensor in tensors}) != 1 or len({tensor.dim() for tensor in tensors}) != 1:
        return None
    dim = index_of(tensors[0], dim)
    if dim is None or len({(*t.shape[:dim], *t.shape[dim + 1 :]) for t in tensors}) != 1:
        return None
    size = list(tensors[0].shape)
    size[dim] = sum(tensor.shape[dim] for tensor in tensors)
    return [(tensors[0].dtype, size)]


def _stack(tensors, dim):
    first = tensors[0]
    if any((tensor.dtype, tensor.shape) != (first.dtype, first.shape) for tensor in tensors):
        return None
    rank = first.dim() + 1
    if not -rank <= dim < rank:
        return None
    size = list(first.shape)
    size.insert(dim % rank, len(tensors))
    return [(first.dtype, size)]


def _embedding(weight, index, *_):
    if weight.dim() != 2 or index.dtype not in (torch.int64, torch.int32):
        return None
    return [(weight.dtype, [*index.shape, weight.shape[1]])]


def _index_select(x, dim, index):
    dim = index_of(x, dim)
    if dim is None or index.dim() != 1 or index.dtype not in (torch.int64, torch.int32):
        return None
    return [(x.dtype, [*x.shape[:dim], index.shape[0], *x.shape[dim + 1 :]])]


def _index(x, indices):
    """Implements a rule for `x[i, j]`, with tensors of integers as indices of the first dimensions."""
    if any(index is None or index.dtype is not torch.int64 for index in indices) or len(indices) > x.dim():
        return None
    size = broadcast(*(index.shape for index in indices))
    return None if size is None or not x.numel() else [(x.dtype, [*size, *x.shape[len(indices) :]])]


def _gather(x, dim, index, *_):
    dim = index_of(x, dim)
    if dim is None or index.dtype is not torch.int64 or index.dim() != x.dim():
        return None
    fits = all(m <= n or d == dim for d, (m, n) in enumerate(zip(index.shape, x.shape)))
    return [(x.dtype, index.shape)] if fits else None


def _fits(index, *others, dim):
    """Returns whether an index is not larger than the other tensors in any dimension except for `dim`. If `dim` is None, all
    dimensions count."""
    if any(other.dim() != index.dim() for other in others):
        return False
    return all(m <= n for other in others for d, (m, n) in enumerate(zip(index.shape, other.shape)) if d != dim)


def _scatter(x, dim, index, source, *_):
    dim = index_of(x, dim)
    if dim is None or index.dtype is not torch.int64 or not _fits(index, x, dim=dim):
        return None
    if is_tensor(source) and (source.dtype != x.dtype or not _fits(index, source, dim=None)):
        return None
    return [(x.dtype, x.shape)] if x.dtype in FLOATS else None


def _index_add(x, dim, index, source, *_):
    dim = index_of(x, dim)
    if dim is None or index.dtype not in (torch.int64, torch.int32) or index.dim() != 1 or source.dtype != x.dtype:
        return None
    size = [*x.shape[:dim], index.shape[0], *x.shape[dim + 1 :]]
    return [(x.dtype, x.shape)] if x.dtype in FLOATS and list(source.shape) == size else None


def _index_fill(x, dim, index, number):
    found = _index_select(x, dim, index)
    return [(x.dtype, x.shape)] if found and index.dtype is torch.int64 and x.dtype in FLOATS else None


def _index_put(x, indices, values, *_):
    found = None if any(index is None for index in indices) else _index(x, indices)
    if found is None or values.dtype != x.dtype or broadcast(values.shape, found[0][1]) != list(found[0][1]):
        return None
    return [(x.dtype, x.shape)] if len(values.shape) <= len(found[0][1]) else None


def _moved(x, dims):
    """Implements a rule for `torch.flip(x, dims)`."""
    known = [index_of(x, dim) for dim in dims]
    return [(x.dtype, x.shape)] if None not in known and len(set(known)) == len(known) else None


def _rolled(x, shifts, dims):
    return _moved(x, dims) if len(shifts) == len(dims) and dims and x.numel() else None


def _padded(x, padding, number):
    """Implements a rule for `torch.constant_pad_nd`. The first two numbers in `padding` are those of the last dimension."""
    if len(padding) % 2 or len(padding) > 2 * x.dim() or x.dtype not in FLOATS:
        return None
    around = [*zip(padding[::2], padding[1::2])] + [(0, 0)] * (x.dim() - len(padding) // 2)
    size = [n + before + after for n, (before, after) in zip(x.shape, reversed(around))]
    return [(x.dtype, size)] if all(n > 0 for n in size) and any(padding) else None


def _scattered(fits):
    """Returns a rule for operators that replace a part of `x`. `fits` returns whether the new part has the shape of the old
    one."""

    def rule(x, *rest):
        part, dim, *bounds = rest
        dim = index_of(x, dim)
        if dim is None or part.dtype != x.dtype:
            return None
        return [(x.dtype, x.shape)] if fits(x, part, dim, *bounds) else None

    return rule


def _is_row(x, part, dim, index):
    fits = -x.shape[dim] <= index < x.shape[dim]
    return fits and tuple(part.shape) == (*x.shape[:dim], *x.shape[dim + 1 :])


def _is_slice(x, part, dim, start, end, step):
    count = len(range(*slice(start, end, step).indices(x.shape[dim]))) if step > 0 else -1
    return tuple(part.shape) == (*x.shape[:dim], count, *x.shape[dim + 1 :])


def _unsafe_view(x, size):
    rest = math.prod(n for n in size if n != -1)
    if size.count(-1) > 1 or any(n < -1 for n in size) or -1 in size and (rest == 0 or x.numel() % rest):
        return None
    size = [x.numel() // rest if n == -1 else n for n in size]
    return [(x.dtype, size)] if math.prod(size) == x.numel() else None


def _repeated(x, repeats):
    missing = len(repeats) - x.dim()
    if missing < 0 or any(n < 0 for n in repeats):
        return None
    return [(x.dtype, [n * m for n, m in zip([1] * missing + list(x.shape), repeats)])]


def _triangle(x, diagonal):
    return [(x.dtype, x.shape)] if x.dim() >= 2 and x.dtype in (*NUMBERS, torch.bool) else None


def _cloned(x, memory_format):
    return [(x.dtype, x.shape)] if memory_format in (None, torch.contiguous_format, torch.preserve_format) else None


def _converted(x, dtype, layout, device, pin, blocking, memory_format):
    if layout not in (None, torch.strided) or device not in (None, x.fake_device) or pin:
        return None
    return [(dtype or x.dtype, x.shape)] if memory_format in (None, torch.preserve_format) else None


RULES = {
    **overloads("tril triu", _triangle), **overloads("index_add", _index_add),
    **overloads("index_fill.int_Scalar", _index_fill), **overloads("index_put", _index_put),
    **overloads("scatter.src scatter.value scatter_add", _scatter), **overloads("flip", _moved),
    **overloads("roll", _rolled), **overloads("constant_pad_nd", _padded), **overloads("cat", _cat),
    **overloads("stack", _stack), **overloads("embedding", _embedding), **overloads("index_select", _index_select),
    **overloads("index.Tensor", _index), **overloads("gather", _gather),
    **overloads("select_scatter", _scattered(_is_row)), **overloads("slice_scatter", _scattered(_is_slice)),
    **overloads("repeat", _repeated), **overloads("_unsafe_view", _unsafe_view), **overloads("clone", _cloned),
    **overloads("_to_copy", _converted),
}  # fmt: skip
