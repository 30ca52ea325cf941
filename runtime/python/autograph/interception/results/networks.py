"""Convolutions, pooling, normalization and dropout."""

import torch

from .operands import FLOATS, have_one_float_dtype, overloads


def _is_ambiguous(x):
    """Returns whether the layout of the result is ambiguous, because the strides of an image fit two layouts."""
    return x.dim() == 4 and x.is_contiguous(memory_format=torch.channels_last)


def _pairs(numbers, count):
    """Returns the numbers for `count` dimensions: a single number is valid for all of them."""
    return list(numbers) * (count if len(numbers) == 1 else 1)


def _convolution(x, weight, bias, stride, padding, dilation, is_transposed, output_padding, groups):
    """Implements the rule for convolutions, except for transposed ones."""
    count = x.dim() - 2
    if not have_one_float_dtype(x, weight) or count not in (1, 2, 3) or weight.dim() != x.dim() or is_transposed or groups < 1:
        return None
    if bias is not None and (bias.dtype, tuple(bias.shape)) != (x.dtype, (weight.shape[0],)):
        return None
    if x.shape[1] != weight.shape[1] * groups or weight.shape[0] % groups or not x.numel() or not weight.numel():
        return None
    if _is_ambiguous(x) and x.shape[1] != 1 or _is_ambiguous(weight) and weight.shape[1] != 1 or x.fake_device.type != "cpu":
        return None
    size = [x.shape[0], weight.shape[0]]
    if min(*stride, *dilation) < 1 or min(padding) < 0:
        return None
    parameters = zip(x.shape[2:], weight.shape[2:], *(_pairs(p, count) for p in (stride, padding, dilation)))
    size += [(n + 2 * pad - d * (k - 1) - 1) // s + 1 for n, k, s, pad, d in parameters]
    return [(x.dtype, size)] if all(n > 0 for n in size) else None


def _pooled(x, kernel, stride, padding, dilation, ceil):
    if x.dtype not in FLOATS or x.dim() != 4 or _is_ambiguous(x) or not x.numel() or ceil or len(kernel) not in (1, 2):
        return None
    kernel = _pairs(kernel, 2)
    padding = _pairs(padding, 2)
    if any(2 * p > k or p < 0 for p, k in zip(padding, kernel)) or min(*kernel, *stride, *dilation) < 1:
        return None
    parameters = zip(x.shape[2:], kernel, _pairs(stride, 2) if stride else kernel, padding, _pairs(dilation, 2))
    size = [*x.shape[:2], *((n + 2 * pad - d * (k - 1) - 1) // s + 1 for n, k, s, pad, d in parameters)]
    return [(x.dtype, size)] if all(n > 0 for n in size) else None


def _max_pooled(x, kernel, stride, padding, dilation, ceil):
    found = _pooled(x, kernel, stride, padding, dilation, ceil)
    return None if found is None else [*found, (torch.int64, found[0][1])]


def _mean_pooled(x, kernel, stride, padding, ceil, includes_padding, divisor):
    return _pooled(x, kernel, stride, padding, [1], ceil)


def _layer_norm(x, size, weight, bias, epsilon):
    operands = [operand for operand in (weight, bias) if operand is not None]
    outer = x.dim() - len(size)
    if not have_one_float_dtype(x, *operands) or outer < 0 or list(x.shape[outer:]) != list(size) or not size or not x.numel():
        return None
    if x.dtype not in (torch.float32, torch.float64) or any(list(operand.shape) != list(size) for operand in operands):
        return None
    statistics = (x.dtype, [*x.shape[:outer], *(1 for _ in size)])
    return [(x.dtype, x.shape), statistics, statistics]


def _dropout(x, probability, training):
    return [(x.dtype, x.shape), (torch.bool, x.shape)] if x.dtype in FLOATS and training else None


def _group_norm(x, weight, bias, batch, channels, rest, groups, epsilon):
    operands = [operand for operand in (weight, bias) if operand is not None]
    fits = x.dim() > 1 and (batch, channels) == tuple(x.shape[:2]) and batch * channels * rest == x.numel() > 0
    if not have_one_float_dtype(x, *operands) or not fits or groups < 1 or channels % groups:
        return None
    if x.dtype not in (torch.float32, torch.float64) or any(tuple(operand.shape) != (channels,) for operand in operands):
        return None
    return [(x.dtype, x.shape), (x.dtype, [batch, groups]), (x.dtype, [batch, groups])]


RULES = {
    **overloads("native_group_norm", _group_norm), **overloads("convolution", _convolution),
    **overloads("max_pool2d_with_indices", _max_pooled), **overloads("avg_pool2d", _mean_pooled),
    **overloads("native_layer_norm", _layer_norm), **overloads("native_dropout", _dropout),
}  # fmt: skip
