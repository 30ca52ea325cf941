# jax.typing of JAX 0.10.
from typing import Any

from jax._array import Array

ArrayLike = Array | bool | int | float | complex
DTypeLike = Any
