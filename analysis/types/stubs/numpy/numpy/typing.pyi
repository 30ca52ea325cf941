# numpy.typing of NumPy 2.4.
from typing import Any, TypeVar

from numpy import dtype, generic, ndarray

ScalarT = TypeVar("ScalarT", bound=generic)

ArrayLike = Any
DTypeLike = Any
NDArray = ndarray[Any, dtype[ScalarT]]
