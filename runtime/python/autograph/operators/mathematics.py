"""The module `math` for staged numbers. If `math` would raise an exception, the graph returns infinity or NaN, like
torch."""

import math

import torch

from ..capture import scalars
from ..capture.staging import current, is_staged
from ..record.ops import TO_INT
from .overloads import OVERLOADS


def _of_math(name):
    function, counterpart = getattr(math, name), getattr(torch, _NAMES_IN_TORCH.get(name, name))

    def staged(*numbers):
        """Calls `math`, or for staged numbers the function of torch in double precision."""
        if not any(map(is_staged, numbers)):
            return function(*numbers)
        staging = current()
        tensors = [n if isinstance(n, torch.Tensor) else _tensor_of(staging, n) for n in numbers]
        result = staging.item(counterpart(*(t.to(torch.float64) for t in tensors)))
        return result if name not in _INTEGERS else scalars.apply(staging, TO_INT, result)

    return staged


def _tensor_of(staging, number):
    return staging.adopt_value(staging.tensor_of(number, torch.float64))


_OF_MATH = (
    "sqrt", "exp", "log2", "log10", "log1p", "expm1", "sin", "cos", "tan", "asin", "acos", "atan", "atan2",
    "sinh", "cosh", "tanh", "hypot", "pow", "fabs", "floor", "ceil", "trunc", "erf", "lgamma", "isnan", "isinf",
    "isfinite", "radians", "degrees", "copysign",
)  # fmt: skip
_NAMES_IN_TORCH = {"fabs": "abs", "radians": "deg2rad", "degrees": "rad2deg"}
_INTEGERS = ("floor", "ceil", "trunc")

_natural_log = _of_math("log")


def _log(number, *base):
    return _natural_log(number) / _natural_log(*base) if base else _natural_log(number)


OVERLOADS.update({math.log: _log, **{getattr(math, name): _of_math(name) for name in _OF_MATH}})
