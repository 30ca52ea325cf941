"""Convolutions, pooling, normalization and dropout."""

import torch

from .operands import FLOATS, have_one_float_dtype, overloads


def _is_ambiguous(x):
    """Returns whether the layout of the result is ambiguous, because the strides of an image fit two layouts."""
    return x.dim() == 4 and x.is_contiguous(memory_format=torch.channels_last)


def _pairs(numbers, count):
    """Returns the numbers for `count` dimensions: a single number is valid for all of them."""
    return list(numbers) * (count if len(numbers) == 1 else 1)


def _is_like_image(x):
    """Returns whether torch takes a contiguous tensor for an image whose channels are stored last. The strides of an image
    of size 1 x 1 fit both layouts; torch takes it for one whose channels are stored last in some cases."""
    if x.dim() not in (4, 5):
        return False
    least, strides = 0, x.stride()
    for d in (1, *range(x.dim() - 1, 1, -1), 0):
        if strides[d] < least or d == 0 and least == strides[1]:
            return False
        least = strides[d] * x.shape[d]
    return True


def _convolution(x, weight, bias, stride, padding, dilation, is_transposed, output_padding, groups):
    count = x.dim() - 2
    if not have_one_float_dtype(x, weight) or count not in (1, 2, 3) or weight.dim() != x.dim() or groups < 1:
        return None
    inputs, outputs = (1, 0) if not is_transposed else (0, 1)
    channels = weight.shape[outputs] * (groups if is_transposed else 1)
    if bias is not None and (bias.dtype, tuple(bias.shape)) != (x.dtype, (channels,)):
        return None
    if x.shape[1] != weight.shape[inputs] * (1 if is_transposed else groups) or weight.shape[0] % groups:
        return None
    if not x.numel() or not weight.numel() or _is_like_image(x) or _is_like_image(weight) or x.fake_device.type != "cpu":
        return None
    if min(*stride, *dilation) < 1 or min(padding) < 0:
        return None
    parameters = [_pairs(p, count) for p in (stride, padding, dilation, output_padding)]
    if is_transposed and any(extra >= max(s, d) or extra < 0 for s, _, d, extra in zip(*parameters)):
        return None
    length = _length_of_transposed if is_transposed else _length
    size = [x.shape[0], channels, *map(length, x.shape[2:], weight.shape[2:], *parameters)]
    return [(x.dtype, size)] if all(n > 0 for n in size) else None


def _length(n, kernel, stride, padding, dilation, _):
    return (n + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def _length_of_transposed(n, kernel, stride, padding, dilation, extra):
    return (n - 1) * stride - 2 * padding + dilation * (kernel - 1) + extra + 1


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


def _batch_norm(x, weight, bias, *statistics):
    """Returns the results of a batch normalization, and the size of its statistics."""
    operands = [operand for operand in (weight, bias, *statistics) if operand is not None]
    if x.dim() < 2 or not have_one_float_dtype(x, *operands) or x.dtype not in (torch.float32, torch.float64):
        return None
    if not x.numel() or _is_like_image(x) or any(tuple(operand.shape) != (x.shape[1],) for operand in operands):
        return None
    return None if x.fake_device.type != "cpu" else ((x.dtype, x.shape), (x.dtype, [x.shape[1]]))


def _batch_norm_of_inference(x, weight, bias, mean, variance, momentum, epsilon):
    found = _batch_norm(x, weight, bias, mean, variance)
    return None if found is None else [found[0], (x.dtype, [0]), (x.dtype, [0])]


def _batch_norm_of_batch(x, weight, bias, training, momentum, epsilon):
    found = _batch_norm(x, weight, bias) if training else None
    return None if found is None else [found[0], found[1], found[1]]


def _batch_norm_with_updates(x, weight, bias, mean, variance, training, momentum, epsilon):
    found = _batch_norm(x, weight, bias, mean, variance) if training else None
    return None if found is None else [found[0], *[found[1]] * 4]


def _batch_norm_backward(gradient, x, weight, mean, variance, *rest):
    mask = rest[-1]
    found = _batch_norm(x, weight, None, mean, variance)
    if found is None or weight is None or not all(mask) or (gradient.dtype, gradient.shape) != (x.dtype, x.shape):
        return None
    return [found[0], found[1], found[1]]


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
    **overloads("_native_batch_norm_legit_no_training", _batch_norm_of_inference),
    **overloads("_native_batch_norm_legit.no_stats", _batch_norm_of_batch),
    **overloads("_native_batch_norm_legit_functional", _batch_norm_with_updates),
    **overloads("native_batch_norm_backward", _batch_norm_backward),
}  # fmt: skip
