# jax.flatten_util of JAX 0.10.
from typing import Any, Callable, TypeVar

from jax import Array

T = TypeVar("T")

def ravel_pytree(pytree: T) -> tuple[Array, Callable[[Any], T]]: ...
