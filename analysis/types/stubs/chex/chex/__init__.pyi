# chex 0.1: type aliases of Arrays, dataclasses that are pytrees, and assertions.
from typing import Any, Callable, TypeVar, dataclass_transform, overload

import jax
from numpy import ndarray

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C")

Array = jax.Array
ArrayDevice = jax.Array
ArrayNumpy = ndarray[Any, Any]
Numeric = jax.Array | int | float
PRNGKey = jax.Array
Scalar = float | int
Shape = tuple[int, ...]
ArrayTree = Any

@overload
@dataclass_transform()
def dataclass(cls: type[C], /) -> type[C]: ...
@overload
@dataclass_transform()
def dataclass(**kwargs: Any) -> Callable[[type[C]], type[C]]: ...
@overload
def assert_max_traces(fn: F, n: Any = ...) -> F: ...
@overload
def assert_max_traces(fn: int | None = ..., n: Any = ...) -> Callable[[F], F]: ...
def __getattr__(name: str) -> Any: ...
