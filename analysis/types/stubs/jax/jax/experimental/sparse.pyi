# jax.experimental.sparse of JAX 0.10.
from typing import Any

def __getattr__(name: str) -> Any: ...
