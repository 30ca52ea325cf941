# flax.training.train_state 0.12.
from typing import Any, Callable
from typing_extensions import Self

from flax.struct import PyTreeNode
from jax import Array

class TrainState(PyTreeNode):
    step: int | Array
    apply_fn: Callable[..., Any]
    params: Any
    tx: Any
    opt_state: Any
    def apply_gradients(self, *, grads: Any, **kwargs: Any) -> Self: ...
    @classmethod
    def create(cls, *, apply_fn: Any, params: Any, tx: Any, **kwargs: Any) -> Self: ...
