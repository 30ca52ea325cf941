"""Operators that compute each element from the elements at the same index: `x + y`, `torch.where`."""

import torch

from .operands import FLOATS, INTEGERS, NUMBERS, broadcast, is_tensor, overloads, result


def _same(dtypes):
    """Returns a rule for operators such as `torch.relu(x)`: the result has the dtype and the sizes of the first operand."""

    def rule(x, *_):
        return [(x.dtype, x.shape)] if x.dtype in dtypes else None

    return rule


def _to_float(x):
    """Implements a rule for operators such as `torch.exp(x)`: integers become floating-point numbers."""
    if x.dtype not in (*NUMBERS, torch.bool):
        return None
    return [(x.dtype if x.dtype in FLOATS else torch.get_default_dtype(), x.shape)]


def _of_two(x, y, dtypes):
    """Returns the common dtype and the common shape of two operands, of which one may be a number."""
    if not (is_tensor(x) or is_tensor(y)):
        return None, None
    dtype = torch.result_type(x, y)
    shapes = [operand.shape for operand in (x, y) if is_tensor(operand)]
    return (dtype, broadcast(*shapes)) if dtype in dtypes else (None, None)


def _arithmetic(x, y, *alpha):
    dtype, size = _of_two(x, y, NUMBERS)
    if alpha and type(alpha[0]) is not int and dtype not in FLOATS:
        return None
    return result(dtype, size)


def _rounded_division(x, y, mode):
    return result(*_of_two(x, y, NUMBERS)) if mode in ("floor", "trunc") else None


def _bits(x, y):
    return result(*_of_two(x, y, (*INTEGERS, torch.bool)))


def _division(x, y):
    dtype, size = _of_two(x, y, (*NUMBERS, torch.bool))
    return result(dtype if dtype in FLOATS else torch.get_default_dtype(), size)


def _power(x, y):
    return result(*_of_two(x, y, FLOATS))


def _comparison(x, y):
    return result(torch.bool, _of_two(x, y, (*NUMBERS, torch.bool))[1])


def _logic(x, *others):
    return result(torch.bool, broadcast(x.shape, *(y.shape for y in others)))


def _where(condition, x, y):
    if condition.dtype is not torch.bool or not (is_tensor(x) and is_tensor(y)):
        return None
    return result(torch.result_type(x, y), broadcast(condition.shape, x.shape, y.shape))


def _masked_fill(x, mask, value):
    if mask.dtype is not torch.bool or x.dtype not in FLOATS or is_tensor(value) and value.dim():
        return None
    return result(x.dtype, broadcast(x.shape, mask.shape))


def _of_floats(*operands):
    """Implements a rule for operators such as `torch.addcmul(x, y, z)`, whose operands must have the same dtype."""
    tensors = [operand for operand in operands if is_tensor(operand)]
    dtype = tensors[0].dtype
    if dtype not in FLOATS or any(tensor.dtype != dtype for tensor in tensors):
        return None
    return result(dtype, broadcast(*(tensor.shape for tensor in tensors)))


def _same_of_floats(x, y):
    return _of_floats(x, y) if x.dtype == y.dtype else None


def _is_not_a_number(x):
    return [(torch.bool, x.shape)]


def _clamped(x, *bounds):
    kinds = (int, type(None)) if x.dtype in INTEGERS else (int, float, type(None))
    is_known = x.dtype in NUMBERS and all(type(bound) in kinds for bound in bounds) and any(b is not None for b in bounds)
    return [(x.dtype, x.shape)] if is_known else None


def _gelu(x, approximate):
    return [(x.dtype, x.shape)] if x.dtype in FLOATS and approximate in ("none", "tanh") else None


RULES = {
    **overloads("relu abs neg sgn sign", _same(NUMBERS)),
    **overloads("floor ceil round trunc silu elu leaky_relu hardtanh softplus hardsigmoid hardswish mish", _same(FLOATS)),
    **overloads("pow.Tensor_Scalar", _same(FLOATS)), **overloads("clamp clamp_min clamp_max", _clamped),
    **overloads("gelu", _gelu),
    **overloads("exp expm1 log log2 log10 log1p sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh", _to_float),
    **overloads("sigmoid erf erfc reciprocal", _to_float),
    **overloads("add.Tensor sub.Tensor mul.Tensor rsub.Scalar maximum minimum", _arithmetic),
    **overloads("add.Scalar sub.Scalar mul.Scalar fmod.Scalar fmod.Tensor remainder.Scalar remainder.Tensor", _arithmetic),
    **overloads("clamp_min.Tensor clamp_max.Tensor hypot", _same_of_floats), **overloads("isnan", _is_not_a_number),
    **overloads("selu logit bernoulli nan_to_num xlogy.Scalar_Other", _same(FLOATS)),
    **overloads("atan2 xlogy.Tensor", _division), **overloads("div.Tensor", _division),
    **overloads("div.Scalar", _division), **overloads("div.Tensor_mode", _rounded_division),
    **overloads("bitwise_and.Tensor bitwise_or.Tensor bitwise_xor.Tensor", _bits),
    **overloads("bitwise_not", _same((*INTEGERS, torch.bool))),
    **overloads("pow.Tensor_Tensor pow.Scalar", _power),
    **overloads(" ".join(f"{name}.{kind}" for name in ("eq", "ne", "lt", "le", "gt", "ge") for kind in ("Scalar", "Tensor")), _comparison),
    **overloads("logical_and logical_or logical_xor logical_not", _logic), **overloads("where.self", _where),
    **overloads("masked_fill.Scalar masked_fill.Tensor", _masked_fill),
    **overloads("lerp.Scalar lerp.Tensor addcmul addcdiv", _of_floats),
}  # fmt: skip

#: The rules whose operands need not be contiguous: it is enough that the strides of all operands decrease from
#: dimension to dimension. The rules of `_same` are not included.
POINTWISE = {
    _to_float, _arithmetic, _rounded_division, _bits, _division, _power, _comparison, _logic, _where, _of_floats,
    _same_of_floats, _clamped,
}  # fmt: skip


def is_pointwise(rule):
    return rule in POINTWISE or rule.__qualname__.startswith("_same.")
