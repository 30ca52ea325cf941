"""Calls of Python functions each time the graph runs."""

import torch

from ..capture import gradients, views
from ..capture.staging import current
from ..record.types import BOOL, FLOAT, INT, TensorType, is_differentiable
from . import tape


def py_function(function, inputs=(), types=()):
    """Calls a Python function each time the graph runs, with the values of `inputs`. `types` is the type of its result,
    or a list of the types of its results. A type is a text such as `f32[4,?]`, `int`, `float` or `bool` (or one of
    these classes), a tensor, or a dtype (of a number). Torch's autograd differentiates the function with respect to its
    tensors."""
    staging = current()
    if staging is None:
        return function(*inputs)
    single = not isinstance(types, (list, tuple))
    result_types = [_type(type) for type in ([types] if single else types)]

    def callback(*values):
        result = function(*values)
        return (result,) if single else tuple(result) if result_types else ()

    operands = [staging.operand(value) for value in inputs]
    needed = [_needs_gradient(staging, value) for value in inputs]
    if torch.is_grad_enabled() and any(needed) and any(_is_differentiable(type) for type in result_types):
        results = _differentiable(staging, callback, inputs, operands, needed, result_types)
    else:
        values = staging.call_python(tape.with_autograd(callback), operands, result_types)
        results = [staging.wrap(value) for value in values]
    return results[0] if single else results


def _differentiable(staging, callback, inputs, operands, needed, types):
    """Returns the results, with the derivative that torch's autograd records during the call of the function."""
    callback = tape.with_autograd(tape.recorded(callback, needed))
    with torch.no_grad():  # `taped` defines the derivative
        *values, record = staging.call_python(callback, operands, [*types, _TAPE])
        results, record = [staging.wrap(value) for value in values], staging.wrap(record)
    tensors = [result for result, type in zip(results, types) if _is_differentiable(type)]
    leaves = [value for value, need in zip(inputs, needed) if need]
    taped = iter(torch.ops.autograph.taped(tensors, leaves, record))
    return [next(taped) if _is_differentiable(type) else result for result, type in zip(results, types)]


def _needs_gradient(staging, value):
    """Returns whether a derivative with respect to a value may be needed. A value that a loop carries may get a history in a
    later iteration."""
    if not isinstance(value, torch.Tensor) or not is_differentiable(value.dtype):
        return False
    return staging.depth > 0 or gradients.requires_grad(staging, value)


def _is_differentiable(type):
    return isinstance(type, TensorType) and is_differentiable(type.dtype)


_TAPE = TensorType(torch.float32, (0,), torch.device("cpu"))


_NUMBERS = {int: INT, float: FLOAT, bool: BOOL, "int": INT, "float": FLOAT, "bool": BOOL}


def _type(type):
    if isinstance(type, TensorType):
        return type
    if isinstance(type, torch.Tensor):
        return views.result_type(type)
    if isinstance(type, torch.dtype):
        return TensorType(type, (), torch.device("cpu"))
    return _NUMBERS.get(type) or TensorType.parse(type)
