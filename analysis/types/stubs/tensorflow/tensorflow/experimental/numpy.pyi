# tf.experimental.numpy: NumPy names whose results are Tensors, of TensorFlow 2.21.
from typing import Any

from tensorflow._ops import Op
from tensorflow._tensor import Tensor

ndarray = Tensor

def experimental_enable_numpy_behavior(*args: Any, **kwargs: Any) -> None: ...
def ndim(a: Any) -> int: ...
def isscalar(num: Any) -> bool: ...
finfo: Any
iinfo: Any

pi: float
e: float
inf: float
newaxis: None

def __getattr__(name: str) -> Op: ...
