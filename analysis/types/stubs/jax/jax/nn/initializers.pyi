# jax.nn.initializers of JAX 0.10.
from typing import Any

from jax._array import Array

class Initializer:
    def __call__(self, key: Any, shape: Any = ..., *args: Any, **kwargs: Any) -> Array: ...

class _Build:
    def __call__(self, *args: Any, **kwargs: Any) -> Initializer: ...

ones: Initializer
zeros: Initializer
constant: _Build
delta_orthogonal: _Build
glorot_normal: _Build
glorot_uniform: _Build
he_normal: _Build
he_uniform: _Build
kaiming_normal: _Build
kaiming_uniform: _Build
lecun_normal: _Build
lecun_uniform: _Build
normal: _Build
orthogonal: _Build
truncated_normal: _Build
uniform: _Build
variance_scaling: _Build
xavier_normal: _Build
xavier_uniform: _Build
