# tf.experimental of TensorFlow 2.21.
from typing import Any, Generic
from typing_extensions import TypeVar

from tensorflow import _dtypes as _d
from tensorflow._tensor import Tensor
from tensorflow.experimental import numpy as numpy

T = TypeVar("T", default=Any)

class ExtensionType:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

class BatchableExtensionType(ExtensionType): ...

class Optional(Generic[T]):
    element_spec: Any
    def has_value(self, name: Any = ...) -> Tensor[_d.bool]: ...
    def get_value(self, name: Any = ...) -> T: ...

dlpack: Any
dtensor: Any
def __getattr__(name: str) -> Any: ...
