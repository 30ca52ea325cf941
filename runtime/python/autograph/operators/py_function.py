"""Calls of Python functions each time the graph runs."""

import torch

from ..capture import views
from ..capture.staging import current
from ..record.types import BOOL, FLOAT, INT, TensorType


def py_function(function, inputs=(), types=()):
    """Calls a Python function each time the graph runs, with the values of `inputs`. `types` are the types of its
    results, one or a list: a text such as `f32[4,?]`, `int`, `float` or `bool` (or the class), a tensor, or a dtype (of
    a number)."""
    staging = current()
    if staging is None:
        return function(*inputs)
    single = not isinstance(types, (list, tuple))
    result_types = [_type(type) for type in ([types] if single else types)]

    def callback(*values):
        result = function(*values)
        return (result,) if single else tuple(result) if result_types else ()

    operands = [staging.operand(value) for value in inputs]
    values = staging.call_python(callback, operands, result_types)
    results = [staging.wrap(value) for value in values]
    return results[0] if single else results


_NUMBERS = {int: INT, float: FLOAT, bool: BOOL, "int": INT, "float": FLOAT, "bool": BOOL}


def _type(type):
    if isinstance(type, torch.Tensor):
        return views.result_type(type)
    if isinstance(type, torch.dtype):
        return TensorType(type, (), torch.device("cpu"))
    return _NUMBERS.get(type) or TensorType.parse(type)
