"""What common operators return: the dtypes and sizes of their results, for tensors of known sizes on one device.

Torch computes the same with Python functions that take a third of a millisecond each, and that need sympy, whose import
takes half a second. The results of a rule are contiguous. A rule returns None if it is not certain: then torch computes
the results, or raises the error. Arguments are in the order of the schema, with all defaults.
"""

import math

import torch

aten = torch.ops.aten

_FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
_INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
_NUMBERS = (*_FLOATS, *_INTEGERS)

#: Reductions refuse tensors with more dimensions.
MOST_DIMENSIONS = 64


def results(func, args, tensors):
    """The results [(dtype, size)] of an operator; None if there is no rule for it or for these operands. `tensors` are all
    tensors among the arguments."""
    rule = _RULES.get(func)
    if rule is None or not all(map(_LAYOUTS.get(func, torch.Tensor.is_contiguous), tensors)):
        return None
    return rule(*args)


def _any_layout(tensor):
    return True


def _is_row_major(tensor):
    """Whether the strides decrease from dimension to dimension, possibly with gaps: elementwise results are contiguous."""
    strides = [stride for size, stride in zip(tensor.shape, tensor.stride()) if size > 1 and stride]
    return all(outer > inner for outer, inner in zip(strides, strides[1:]))


def _is_no_image(tensor):
    """Whether a tensor cannot be an image in a layout such as channels-last, which some operators keep."""
    return tensor.dim() < 4 or tensor.is_contiguous()


def _is_tensor(value):
    return isinstance(value, torch.Tensor)


def _broadcast(*shapes):
    """The common shape; None if there is none."""
    rank = max(map(len, shapes))
    common = [1] * rank
    for shape in shapes:
        for place, size in enumerate(shape, rank - len(shape)):
            if size != 1:
                if common[place] not in (1, size):
                    return None
                common[place] = size
    return common


def _result(dtype, size):
    return None if size is None else [(dtype, size)]


def _dim(tensor, dim):
    """A dimension as an index from 0; None if there is no such dimension."""
    rank = tensor.dim()
    return dim % rank if rank and -rank <= dim < rank else None


# Elementwise.


def _same(dtypes):
    """`torch.relu(x)`: the type and the sizes of the first operand."""

    def rule(x, *_):
        return [(x.dtype, x.shape)] if x.dtype in dtypes else None

    return rule


def _to_float(x):
    """`torch.exp(x)`: integers become floating-point numbers."""
    if x.dtype not in (*_NUMBERS, torch.bool):
        return None
    return [(x.dtype if x.dtype in _FLOATS else torch.get_default_dtype(), x.shape)]


def _of_two(x, y, dtypes):
    """The common type of two operands, of which one may be a number, and their common shape."""
    if not (_is_tensor(x) or _is_tensor(y)):
        return None, None
    dtype = torch.result_type(x, y)
    shapes = [operand.shape for operand in (x, y) if _is_tensor(operand)]
    return (dtype, _broadcast(*shapes)) if dtype in dtypes else (None, None)


def _arithmetic(x, y, *alpha):
    dtype, size = _of_two(x, y, _NUMBERS)
    if alpha and type(alpha[0]) is not int and dtype not in _FLOATS:
        return None
    return _result(dtype, size)


def _rounded_division(x, y, mode):
    return _result(*_of_two(x, y, _NUMBERS)) if mode in ("floor", "trunc") else None


def _bits(x, y):
    return _result(*_of_two(x, y, (*_INTEGERS, torch.bool)))


def _division(x, y):
    dtype, size = _of_two(x, y, (*_NUMBERS, torch.bool))
    return _result(dtype if dtype in _FLOATS else torch.get_default_dtype(), size)


def _power(x, y):
    return _result(*_of_two(x, y, _FLOATS))


def _comparison(x, y):
    return _result(torch.bool, _of_two(x, y, (*_NUMBERS, torch.bool))[1])


def _logic(x, *others):
    return _result(torch.bool, _broadcast(x.shape, *(y.shape for y in others)))


def _where(condition, x, y):
    if condition.dtype is not torch.bool or not (_is_tensor(x) and _is_tensor(y)):
        return None
    return _result(torch.result_type(x, y), _broadcast(condition.shape, x.shape, y.shape))


def _masked_fill(x, mask, value):
    if mask.dtype is not torch.bool or x.dtype not in _FLOATS or _is_tensor(value) and value.dim():
        return None
    return _result(x.dtype, _broadcast(x.shape, mask.shape))


def _of_floats(*operands):
    """`torch.addcmul(x, y, z)`: all operands have one type."""
    tensors = [operand for operand in operands if _is_tensor(operand)]
    dtype = tensors[0].dtype
    if dtype not in _FLOATS or any(tensor.dtype != dtype for tensor in tensors):
        return None
    return _result(dtype, _broadcast(*(tensor.shape for tensor in tensors)))


def _same_of_floats(x, y):
    return _of_floats(x, y) if x.dtype == y.dtype else None


def _is_not_a_number(x):
    return [(torch.bool, x.shape)]


# Products.


def _are_alike(*tensors):
    return tensors[0].dtype in _FLOATS and all(tensor.dtype == tensors[0].dtype for tensor in tensors)


def _mm(x, y):
    if not _are_alike(x, y) or x.dim() != 2 or y.dim() != 2 or x.shape[1] != y.shape[0]:
        return None
    return [(x.dtype, [x.shape[0], y.shape[1]])]


def _bmm(x, y):
    if not _are_alike(x, y) or x.dim() != 3 or y.dim() != 3 or x.shape[0] != y.shape[0] or x.shape[2] != y.shape[1]:
        return None
    return [(x.dtype, [x.shape[0], x.shape[1], y.shape[2]])]


def _mv(x, y):
    fits = _are_alike(x, y) and x.dim() == 2 and y.dim() == 1 and x.shape[1] == y.shape[0]
    return [(x.dtype, [x.shape[0]])] if fits else None


def _dot(x, y):
    return [(x.dtype, [])] if _are_alike(x, y) and x.dim() == y.dim() == 1 and x.shape == y.shape else None


def _added(product):
    """`torch.addmm(bias, x, y)`"""

    def rule(bias, x, y, *_):
        found = product(x, y)
        if found is None or bias.dtype != x.dtype or _broadcast(bias.shape, found[0][1]) != found[0][1]:
            return None
        return found

    return rule


def _distances(x, y, order, mode):
    if not _are_alike(x, y) or min(x.dim(), y.dim()) < 2 or x.shape[-1] != y.shape[-1]:
        return None
    if x.shape[:-2] != y.shape[:-2] or order < 0:
        return None
    return [(x.dtype, [*x.shape[:-1], y.shape[-2]])]


# Reductions.


def _reduced(x, dims, keeps):
    """The sizes without some dimensions; without all of them if `dims` is None or empty."""
    dims = [dims] if type(dims) is int else dims
    dims = [_dim(x, d) for d in dims] if dims else list(range(x.dim()))
    if None in dims or len(set(dims)) != len(dims) or x.dim() > MOST_DIMENSIONS:
        return None
    if keeps:
        return [1 if d in dims else n for d, n in enumerate(x.shape)]
    return [n for d, n in enumerate(x.shape) if d not in dims]


def _sum(x, dims=None, keeps=False, dtype=None):
    if x.dtype not in (*_NUMBERS, torch.bool):
        return None
    return _result(dtype or (x.dtype if x.dtype in _FLOATS else torch.int64), _reduced(x, dims, keeps))


def _mean(x, dims=None, keeps=False, dtype=None):
    return _result(x.dtype, _reduced(x, dims, keeps)) if x.dtype in _FLOATS and dtype is None else None


def _variance(x, dims, correction, keeps):
    return _result(x.dtype, _reduced(x, dims, keeps)) if x.dtype in _FLOATS else None


def _mean_and_variance(x, dims, correction, keeps):
    found = _variance(x, dims, correction, keeps)
    return None if found is None else found * 2


def _log_sum(x, dims, keeps):
    return _mean(x, dims, keeps) if x.numel() else None


def _product(x, dim, keeps, dtype):
    return _sum(x, [dim], keeps, dtype)


def _norm(x, order, dims, keeps, dtype):
    if x.dtype not in _FLOATS or dtype is not None or not x.numel():
        return None
    return _result(x.dtype, _reduced(x, dims, keeps))


def _extremum(x, dims=(), keeps=False):
    return _result(x.dtype, _reduced(x, dims, keeps)) if x.dtype in _NUMBERS and x.numel() else None


def _sum_of_total(x, dtype=None):
    return _sum(x, None, False, dtype)


def _mean_of_total(x, dtype=None):
    return _mean(x, None, False, dtype)


def _extremum_of_total(x):
    return _extremum(x)


def _extremum_along(x, dim, keeps):
    found = _extremum(x, [dim], keeps) if x.dim() else None
    return None if found is None else [*found, (torch.int64, found[0][1])]


def _position(x, dim, keeps):
    if x.dtype not in _NUMBERS or not x.numel() or dim is not None and not x.dim():
        return None
    return _result(torch.int64, _reduced(x, None if dim is None else [dim], keeps))


def _truth(x, dims=None, keeps=False):
    return _result(torch.bool, _reduced(x, dims, keeps)) if x.dtype is not torch.uint8 else None


def _cumulative(x, dim, dtype):
    is_known = x.dtype in _NUMBERS and dtype is None and _dim(x, dim) is not None
    return [(x.dtype if x.dtype in _FLOATS else torch.int64, x.shape)] if is_known else None


def _softmax(x, dim, to_float):
    return [(x.dtype, x.shape)] if x.dtype in _FLOATS and not to_float and _dim(x, dim) is not None else None


def _sorted(x, dim=-1, *_):
    return [(x.dtype, x.shape), (torch.int64, x.shape)] if x.dtype in _NUMBERS and _dim(x, dim) is not None else None


def _sorted_stably(x, stable, dim, descending):
    return _sorted(x, dim)


def _topk(x, k, dim, *_):
    dim = _dim(x, dim)
    if x.dtype not in _NUMBERS or dim is None or not 0 <= k <= x.shape[dim]:
        return None
    size = [k if d == dim else n for d, n in enumerate(x.shape)]
    return [(x.dtype, size), (torch.int64, size)]


# Losses.


def _loss(x, y, *rest):
    """`torch.nn.functional.mse_loss(x, y)`; the last arguments are the reduction and numbers."""
    reduction = next((argument for argument in rest if type(argument) is int), None)
    if not _are_alike(x, y, *filter(_is_tensor, rest)) or x.shape != y.shape or reduction not in (0, 1, 2):
        return None
    return [(x.dtype, [] if reduction else x.shape)]


def _likelihood(x, target, weight, reduction, ignored):
    if x.dtype not in _FLOATS or target.dtype is not torch.int64 or x.dim() != 2 or target.shape != x.shape[:1]:
        return None
    if reduction not in (1, 2) or weight is not None and (weight.dtype, weight.shape) != (x.dtype, x.shape[1:]):
        return None
    return [(x.dtype, []), (x.dtype, [])]


# Structure.


def _cat(tensors, dim):
    if len({tensor.dtype for tensor in tensors}) != 1 or len({tensor.dim() for tensor in tensors}) != 1:
        return None
    dim = _dim(tensors[0], dim)
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
    dim = _dim(x, dim)
    if dim is None or index.dim() != 1 or index.dtype not in (torch.int64, torch.int32):
        return None
    return [(x.dtype, [*x.shape[:dim], index.shape[0], *x.shape[dim + 1 :]])]


def _index(x, indices):
    """`x[i, j]` with tensors of integers for the first dimensions."""
    if any(index is None or index.dtype is not torch.int64 for index in indices) or len(indices) > x.dim():
        return None
    size = _broadcast(*(index.shape for index in indices))
    return None if size is None or not x.numel() else [(x.dtype, [*size, *x.shape[len(indices) :]])]


def _gather(x, dim, index, *_):
    dim = _dim(x, dim)
    if dim is None or index.dtype is not torch.int64 or index.dim() != x.dim():
        return None
    fits = all(m <= n or d == dim for d, (m, n) in enumerate(zip(index.shape, x.shape)))
    return [(x.dtype, index.shape)] if fits else None


def _fits(index, *others, dim):
    """Whether an index is within other tensors in all dimensions except for `dim`, or for None in all."""
    if any(other.dim() != index.dim() for other in others):
        return False
    return all(m <= n for other in others for d, (m, n) in enumerate(zip(index.shape, other.shape)) if d != dim)


def _scatter(x, dim, index, source, *_):
    dim = _dim(x, dim)
    if dim is None or index.dtype is not torch.int64 or not _fits(index, x, dim=dim):
        return None
    if _is_tensor(source) and (source.dtype != x.dtype or not _fits(index, source, dim=None)):
        return None
    return [(x.dtype, x.shape)] if x.dtype in _FLOATS else None


def _index_add(x, dim, index, source, *_):
    dim = _dim(x, dim)
    if dim is None or index.dtype not in (torch.int64, torch.int32) or index.dim() != 1 or source.dtype != x.dtype:
        return None
    size = [*x.shape[:dim], index.shape[0], *x.shape[dim + 1 :]]
    return [(x.dtype, x.shape)] if x.dtype in _FLOATS and list(source.shape) == size else None


def _index_fill(x, dim, index, number):
    found = _index_select(x, dim, index)
    return [(x.dtype, x.shape)] if found and index.dtype is torch.int64 and x.dtype in _FLOATS else None


def _index_put(x, indices, values, *_):
    found = None if any(index is None for index in indices) else _index(x, indices)
    if found is None or values.dtype != x.dtype or _broadcast(values.shape, found[0][1]) != list(found[0][1]):
        return None
    return [(x.dtype, x.shape)] if len(values.shape) <= len(found[0][1]) else None


def _moved(x, dims):
    """`torch.flip(x, dims)`"""
    known = [_dim(x, dim) for dim in dims]
    return [(x.dtype, x.shape)] if None not in known and len(set(known)) == len(known) else None


def _rolled(x, shifts, dims):
    return _moved(x, dims) if len(shifts) == len(dims) and dims and x.numel() else None


def _padded(x, padding, number):
    """`padding` has the last dimension first."""
    if len(padding) % 2 or len(padding) > 2 * x.dim() or x.dtype not in _FLOATS:
        return None
    around = [*zip(padding[::2], padding[1::2])] + [(0, 0)] * (x.dim() - len(padding) // 2)
    size = [n + before + after for n, (before, after) in zip(x.shape, reversed(around))]
    return [(x.dtype, size)] if all(n > 0 for n in size) and any(padding) else None


def _scattered(place):
    """A rule for operators that replace a part of `x`; `place` tells whether the new part fits, as torch checks."""

    def rule(x, *rest):
        part, dim, *bounds = rest
        dim = _dim(x, dim)
        if dim is None or part.dtype != x.dtype:
            return None
        return [(x.dtype, x.shape)] if place(x, part, dim, *bounds) else None

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
    return [(x.dtype, x.shape)] if x.dim() >= 2 and x.dtype in (*_NUMBERS, torch.bool) else None


def _clamped(x, *bounds):
    kinds = (int, type(None)) if x.dtype in _INTEGERS else (int, float, type(None))
    is_known = x.dtype in _NUMBERS and all(type(bound) in kinds for bound in bounds) and any(b is not None for b in bounds)
    return [(x.dtype, x.shape)] if is_known else None


def _gelu(x, approximate):
    return [(x.dtype, x.shape)] if x.dtype in _FLOATS and approximate in ("none", "tanh") else None


def _cloned(x, memory_format):
    return [(x.dtype, x.shape)] if memory_format in (None, torch.contiguous_format, torch.preserve_format) else None


def _converted(x, dtype, layout, device, pin, blocking, memory_format):
    if layout not in (None, torch.strided) or device not in (None, x.fake_device) or pin:
        return None
    return [(dtype or x.dtype, x.shape)] if memory_format in (None, torch.preserve_format) else None


# Networks.


def _is_ambiguous(x):
    """Whether the strides of an image fit two layouts, of which torch chooses one."""
    return x.dim() == 4 and x.is_contiguous(memory_format=torch.channels_last)


def _pairs(numbers, count):
    return list(numbers) * (count if len(numbers) == 1 else 1)


def _convolution(x, weight, bias, stride, padding, dilation, is_transposed, output_padding, groups):
    count = x.dim() - 2
    if not _are_alike(x, weight) or count not in (1, 2, 3) or weight.dim() != x.dim() or is_transposed or groups < 1:
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
    if x.dtype not in _FLOATS or x.dim() != 4 or _is_ambiguous(x) or not x.numel() or ceil or len(kernel) not in (1, 2):
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
    if not _are_alike(x, *operands) or outer < 0 or list(x.shape[outer:]) != list(size) or not size or not x.numel():
        return None
    if x.dtype not in (torch.float32, torch.float64) or any(list(operand.shape) != list(size) for operand in operands):
        return None
    statistics = (x.dtype, [*x.shape[:outer], *(1 for _ in size)])
    return [(x.dtype, x.shape), statistics, statistics]


def _dropout(x, probability, training):
    return [(x.dtype, x.shape), (torch.bool, x.shape)] if x.dtype in _FLOATS and training else None


def _group_norm(x, weight, bias, batch, channels, rest, groups, epsilon):
    operands = [operand for operand in (weight, bias) if operand is not None]
    fits = x.dim() > 1 and (batch, channels) == tuple(x.shape[:2]) and batch * channels * rest == x.numel() > 0
    if not _are_alike(x, *operands) or not fits or groups < 1 or channels % groups:
        return None
    if x.dtype not in (torch.float32, torch.float64) or any(tuple(operand.shape) != (channels,) for operand in operands):
        return None
    return [(x.dtype, x.shape), (x.dtype, [batch, groups]), (x.dtype, [batch, groups])]


def _log_sigmoid(x):
    return [(x.dtype, x.shape), (x.dtype, x.shape if x.is_contiguous() else [0])] if x.dtype in _FLOATS else None


# Tensors from numbers.


def _is_plain(layout, pin):
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


def _overloads(names, rule):
    """The rule for each of these operators, named as in `add.Tensor`."""
    found = {}
    for name in names.split():
        packet, _, overload = name.partition(".")
        found[getattr(getattr(aten, packet), overload or "default")] = rule
    return found


_RULES = {
    **_overloads("relu abs neg sgn sign", _same(_NUMBERS)),
    **_overloads("floor ceil round trunc silu elu leaky_relu hardtanh softplus hardsigmoid hardswish mish", _same(_FLOATS)),
    **_overloads("pow.Tensor_Scalar", _same(_FLOATS)), **_overloads("clamp clamp_min clamp_max", _clamped),
    **_overloads("tril triu", _triangle), **_overloads("gelu", _gelu),
    **_overloads("exp expm1 log log2 log10 log1p sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh", _to_float),
    **_overloads("sigmoid erf erfc reciprocal", _to_float),
    **_overloads("add.Tensor sub.Tensor mul.Tensor rsub.Scalar maximum minimum", _arithmetic),
    **_overloads("add.Scalar sub.Scalar mul.Scalar fmod.Scalar fmod.Tensor remainder.Scalar remainder.Tensor", _arithmetic),
    **_overloads("clamp_min.Tensor clamp_max.Tensor hypot", _same_of_floats), **_overloads("isnan", _is_not_a_number),
    **_overloads("selu logit bernoulli nan_to_num xlogy.Scalar_Other", _same(_FLOATS)), **_overloads("atan2 xlogy.Tensor", _division),
    **_overloads("_cdist_forward", _distances), **_overloads("cumprod", _cumulative), **_overloads("logsumexp", _log_sum),
    **_overloads("prod.dim_int", _product), **_overloads("var_mean.correction", _mean_and_variance),
    **_overloads("index_add", _index_add), **_overloads("index_fill.int_Scalar", _index_fill), **_overloads("index_put", _index_put),
    **_overloads("scatter.src scatter.value scatter_add", _scatter), **_overloads("flip", _moved), **_overloads("roll", _rolled),
    **_overloads("constant_pad_nd", _padded), **_overloads("smooth_l1_loss", _loss),
    **_overloads("native_group_norm", _group_norm), **_overloads("eye eye.m", _identity), **_overloads("linspace", _spaced),
    **_overloads("randint.low", _random_integers), **_overloads("randint", _random_integers_to),
    **_overloads("randperm", _permutation), **_overloads("div.Tensor", _division), **_overloads("div.Scalar", _division),
    **_overloads("div.Tensor_mode", _rounded_division),
    **_overloads("bitwise_and.Tensor bitwise_or.Tensor bitwise_xor.Tensor", _bits),
    **_overloads("bitwise_not", _same((*_INTEGERS, torch.bool))),
    **_overloads("pow.Tensor_Tensor pow.Scalar", _power),
    **_overloads(" ".join(f"{name}.{kind}" for name in ("eq", "ne", "lt", "le", "gt", "ge") for kind in ("Scalar", "Tensor")), _comparison),
    **_overloads("logical_and logical_or logical_xor logical_not", _logic),
    **_overloads("where.self", _where),
    **_overloads("masked_fill.Scalar masked_fill.Tensor", _masked_fill),
    **_overloads("lerp.Scalar lerp.Tensor addcmul addcdiv", _of_floats),
    **_overloads("mm", _mm), **_overloads("bmm", _bmm), **_overloads("mv", _mv), **_overloads("dot", _dot),
    **_overloads("addmm", _added(_mm)), **_overloads("baddbmm", _added(_bmm)), **_overloads("addmv", _added(_mv)),
    **_overloads("sum", _sum_of_total), **_overloads("sum.dim_IntList", _sum),
    **_overloads("mean", _mean_of_total), **_overloads("mean.dim", _mean),
    **_overloads("var.correction std.correction", _variance), **_overloads("linalg_vector_norm", _norm),
    **_overloads("amax amin", _extremum), **_overloads("max min", _extremum_of_total),
    **_overloads("max.dim min.dim", _extremum_along), **_overloads("argmax argmin", _position),
    **_overloads("any all any.dim all.dim", _truth), **_overloads("cumsum", _cumulative),
    **_overloads("_softmax _log_softmax", _softmax), **_overloads("sort", _sorted), **_overloads("sort.stable", _sorted_stably),
    **_overloads("topk", _topk), **_overloads("mse_loss binary_cross_entropy", _loss),
    **_overloads("binary_cross_entropy_with_logits", _loss),
    **_overloads("nll_loss_forward", _likelihood), **_overloads("cat", _cat), **_overloads("stack", _stack),
    **_overloads("embedding", _embedding), **_overloads("index_select", _index_select), **_overloads("index.Tensor", _index),
    **_overloads("gather", _gather), **_overloads("select_scatter", _scattered(_is_row)),
    **_overloads("slice_scatter", _scattered(_is_slice)), **_overloads("repeat", _repeated),
    **_overloads("_unsafe_view", _unsafe_view), **_overloads("clone", _cloned), **_overloads("_to_copy", _converted),
    **_overloads("convolution", _convolution), **_overloads("max_pool2d_with_indices", _max_pooled),
    **_overloads("avg_pool2d", _mean_pooled), **_overloads("native_layer_norm", _layer_norm),
    **_overloads("native_dropout", _dropout), **_overloads("zeros ones empty.memory_format rand randn", _filled),
    **_overloads("full", _full), **_overloads("zeros_like ones_like empty_like rand_like randn_like", _like),
    **_overloads("full_like", _full_like), **_overloads("new_zeros new_ones new_empty", _new),
    **_overloads("new_full", _new_full), **_overloads("scalar_tensor", _number), **_overloads("arange", _range_to),
    **_overloads("arange.start", _range_from), **_overloads("arange.start_step", _range),
}  # fmt: skip

_POINTWISE = {
    _same, _to_float, _arithmetic, _rounded_division, _bits, _division, _power, _comparison, _logic, _where, _of_floats,
    _same_of_floats, _clamped,
}  # fmt: skip

#: Tests for the operands of an operator: which of them have a layout with which its results are contiguous. For all
#: other operators, the operands must be contiguous.
_LAYOUTS = {
    **{func: _is_row_major for func, rule in _RULES.items() if rule in _POINTWISE or rule.__qualname__.startswith("_same.")},
    **_overloads("mm bmm mv dot addmm addmv baddbmm sum mean max min any all embedding index_select gather", _any_layout),
    **_overloads("cat", _is_no_image), **_overloads("isnan scatter.src scatter.value scatter_add", _is_row_major),
    **_overloads("zeros_like ones_like empty_like rand_like randn_like full_like clone _to_copy", _is_row_major),
}
