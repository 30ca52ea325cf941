"""Tensors from numbers: `torch.zeros(3)`, `torch.arange(n)`, `torch.full_like(x, 1)`."""

import math

import torch

from .operands import overloads


def _is_plain(layout, pin):
    """Returns whether a tensor is strided and not in pinned memory."""
    return layout in (None, torch.strided) and not pin


def _filled(size, dtype, layout, device, pin, *rest):
    if not _is_plain(layout, pin) or any(n < 0 for n in size) or rest not in ((), (None,)):
        return None
    return [(dtype or torch.get_default_dtype(), size)]


def _full(size, number, dtype, layout, device, pin):
    if dtype is None and type(number) is not float:
        return None
    return _filled(size, dtype, layout, device, pin)


def _like(x, dtype, layout, device, pin, memory_format):
    if not _is_plain(layout, pin) or memory_format not in (None, torch.preserve_format, torch.contiguous_format):
        return None
    return [(dtype or x.dtype, x.shape)] if device in (None, x.fake_device) else None


def _full_like(x, number, *rest):
    return _like(x, *rest)


def _new(x, size, dtype, layout, device, pin):
    return _filled(size, dtype or x.dtype, layout, device, pin) if device in (None, x.fake_device) else None


def _new_full(x, size, number, *rest):
    return _new(x, size, *rest)


def _number(number, dtype, layout, device, pin):
    return _filled([], dtype, layout, device, pin)


def _identity(rows, *rest):
    columns, *options = rest if type(rest[0]) is int else (rows, *rest)
    return _filled([rows, columns], *options)


def _spaced(start, end, steps, dtype, layout, device, pin):
    is_plain = all(type(n) in (int, float) for n in (start, end))
    return _filled([steps], dtype, layout, device, pin) if is_plain else None


def _random_integers(low, high, size, dtype, layout, device, pin):
    return _filled(size, dtype or torch.int64, layout, device, pin) if low < high and dtype in (None, torch.int64) else None


def _random_integers_to(high, *rest):
    return _random_integers(0, high, *rest)


def _permutation(count, dtype, *rest):
    return _filled([count], dtype or torch.int64, *rest) if dtype in (None, torch.int64) else None


def _range(start, end, step, dtype, layout, device, pin):
    if any(type(n) is not int for n in (start, end, step)) or step == 0 or (end - start) * step < 0:
        return None
    size = math.ceil((end - start) / step) if abs(end - start) < 1 << 40 else None
    return _filled([size], dtype or torch.int64, layout, device, pin) if size is not None else None


def _range_to(end, *rest):
    return _range(0, end, 1, *rest)


def _range_from(start, end, *rest):
    return _range(start, end, 1, *rest)


RULES = {
    **overloads("eye eye.m", _identity), **overloads("linspace", _spaced),
    **overloads("randint.low", _random_integers), **overloads("randint", _random_integers_to),
    **overloads("randperm", _permutation), **overloads("zeros ones empty.memory_format rand randn", _filled),
    **overloads("full", _full), **overloads("zeros_like ones_like empty_like rand_like randn_like", _like),
    **overloads("full_like", _full_like), **overloads("new_zeros new_ones new_empty", _new),
    **overloads("new_full", _new_full), **overloads("scalar_tensor", _number), **overloads("arange", _range_to),
    **overloads("arange.start", _range_from), **overloads("arange.start_step", _range),
}  # fmt: skip
