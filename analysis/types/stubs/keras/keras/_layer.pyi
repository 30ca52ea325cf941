# The base of every Keras 3.15 layer. With another backend the Tensors are those of that backend;
# they are traced as well.
from typing import Any
from typing_extensions import Self

from numpy import ndarray
from tensorflow import Tensor as _Tensor, Variable as _Variable

class KerasTensor(_Tensor[Any]):
    def __init__(self, shape: Any, *args: Any, **kwargs: Any) -> None: ...

class Variable(_Variable[Any]):
    path: str
    value: _Tensor[Any]  # type: ignore
    def __init__(self, initializer: Any, *args: Any, **kwargs: Any) -> None: ...

class InputSpec:
    axes: dict[int, int]
    dtype: str
    max_ndim: int
    min_ndim: int
    ndim: int
    shape: tuple[int, ...]
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

class Operation:
    input: Any
    name: str
    output: Any
    @classmethod
    def from_config(cls, config: Any) -> Self: ...
    def get_config(self) -> dict[str, Any]: ...

# A call of a layer returns the result of its `call` method, which is Any for the base class.
class Layer(Operation):
    activity_regularizer: Any
    autocast: bool
    built: bool
    compute_dtype: str
    dtype: str
    dtype_policy: Any
    dynamic: bool
    input_dtype: str
    input_spec: Any
    losses: list[_Tensor[Any]]
    metrics: list[Any]
    metrics_variables: list[Variable]
    non_trainable_variables: list[Variable]
    non_trainable_weights: list[Variable]
    quantization_mode: str | None
    stateful: bool
    supports_masking: bool
    trainable: bool
    trainable_variables: list[Variable]
    trainable_weights: list[Variable]
    updates: list[Any]
    variable_dtype: str
    variables: list[Variable]
    weights: list[Variable]
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def add_loss(self, loss: Any, **kwargs: Any) -> None: ...
    def add_metric(self, *args: Any, **kwargs: Any) -> None: ...
    def add_variable(self, *args: Any, **kwargs: Any) -> Variable: ...
    def add_weight(self, *args: Any, **kwargs: Any) -> Variable: ...
    def build(self, *args: Any, **kwargs: Any) -> None: ...
    def build_from_config(self, config: Any) -> None: ...
    def compute_mask(self, inputs: Any, previous_mask: Any = ...) -> Any: ...
    def compute_output_shape(self, *args: Any, **kwargs: Any) -> Any: ...
    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any: ...
    def count_params(self) -> int: ...
    def get_weights(self) -> list[ndarray[Any, Any]]: ...
    def load_own_variables(self, store: Any) -> None: ...
    def quantize(self, mode: Any, *args: Any, **kwargs: Any) -> None: ...
    def save_own_variables(self, store: Any) -> None: ...
    def set_weights(self, weights: Any) -> None: ...
    def stateless_call(self, *args: Any, **kwargs: Any) -> Any: ...

# The built-in layers that return one Tensor.
class TensorLayer(Layer):
    def __call__(self, *args: Any, **kwargs: Any) -> _Tensor[Any]: ...
