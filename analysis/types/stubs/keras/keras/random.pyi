# keras.random of Keras 3.15.
from typing import Any

from tensorflow import Tensor
from tensorflow._ops import Op

beta: Op
binomial: Op
categorical: Op
dropout: Op
gamma: Op
normal: Op
randint: Op
shuffle: Op
truncated_normal: Op
uniform: Op

class SeedGenerator:
    state: Any
    def __init__(self, seed: Any = ..., *args: Any, **kwargs: Any) -> None: ...
    def next(self, ordered: Any = ...) -> Tensor[Any]: ...

def __getattr__(name: str) -> Op: ...
