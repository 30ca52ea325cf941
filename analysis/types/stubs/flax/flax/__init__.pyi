# flax 0.12.
from typing import Any

from flax import core as core, linen as linen, nnx as nnx, serialization as serialization, struct as struct, training as training, traverse_util as traverse_util

def __getattr__(name: str) -> Any: ...
