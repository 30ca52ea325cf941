# autograph, the dialect of this project: `import autograph as ag`.
#
# Its staged values are the Tensors of the TensorFlow model, dtypes included.
from builtins import bool as _bool
from typing import Any, Callable, TypeVar, overload

from autograph import experimental as experimental
from tensorflow import _dtypes as _d
from tensorflow._dtypes import D, DType as DType, Spec
from tensorflow._ops import Convert, Fill, Imitate, Range
from tensorflow._tensor import (
    Tensor as Tensor,
    TensorArray as TensorArray,
    TensorShape as TensorShape,
    TensorSpec as TensorSpec,
    Variable as Variable,
)
from tensorflow.dtypes import (
    bool as bool,
    float16 as float16,
    float32 as float32,
    float64 as float64,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    int8 as int8,
    string as string,
    uint8 as uint8,
)

F = TypeVar("F", bound=Callable[..., Any])

# ---- the ways in
def convert(*args: Any, **kwargs: Any) -> Callable[[F], F]: ...
@overload
def function(func: F, *args: Any, **kwargs: Any) -> F: ...
@overload
def function(func: None = ..., *args: Any, **kwargs: Any) -> Callable[[F], F]: ...
@overload
def do_not_convert(func: F) -> F: ...
@overload
def do_not_convert(func: None = ...) -> Callable[[F], F]: ...
def to_graph(entity: F, *args: Any, **kwargs: Any) -> F: ...
def to_code(entity: Any, *args: Any, **kwargs: Any) -> str: ...

# ---- directives
def set_element_type(entity: Any, dtype: Any, shape: Any = ...) -> None: ...
def set_loop_options(*args: Any, **kwargs: Any) -> None: ...
def stack(list_or_tensor: Any, element_dtype: Any = ..., strict: Any = ...) -> Tensor[Any]: ...

# ---- making Tensors
range: Range
constant: Convert
tensor: Convert
zeros: Fill[_d.float32]
ones: Fill[_d.float32]
zeros_like: Imitate
ones_like: Imitate

def cast(x: Any, dtype: Spec[D]) -> Tensor[D]: ...
def is_tensor(x: Any) -> _bool: ...
def print(*args: Any, **kwargs: Any) -> None: ...
def __getattr__(name: str) -> Any: ...
