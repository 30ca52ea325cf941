# The kinds of PyTorch 2.11 ops. Ops whose results have the same structure have one kind.
#
# A namespace declares each op as an instance of its kind. That needs few signatures and loads fast.
from typing import Any, Literal, SupportsIndex, final, overload
from typing_extensions import TypeVar

from torch._tensor import Tensor
from torch.return_types import _values_indices

# No value has the type of the bound, so only an argument of unknown type matches this parameter.
@final
class _Nothing: ...

Unknown = TypeVar("Unknown", bound=_Nothing, default=Any)
Int = TypeVar("Int", bound=int)
Index = TypeVar("Index", bound=SupportsIndex)

# The result is one Tensor.
class Op:
    def __call__(self, *args: Any, **kwargs: Any) -> Tensor: ...

# The result is a tuple of Tensors whose length depends on the arguments.
class Parts:
    def __call__(self, *args: Any, **kwargs: Any) -> tuple[Tensor, ...]: ...

# The results are a Tensor of values and one of indices.
class Ranked:
    def __call__(self, *args: Any, **kwargs: Any) -> _values_indices: ...

# `x.median()` is a Tensor, `x.median(dim)` is values and indices.
class Median:
    @overload
    def __call__(self) -> Tensor: ...
    @overload
    def __call__(self, dim: Any, keepdim: Any = ...) -> _values_indices: ...

class MedianOf:
    @overload
    def __call__(self, input: Any) -> Tensor: ...
    @overload
    def __call__(self, input: Any, dim: Any, keepdim: Any = ...) -> _values_indices: ...

# `x.max()` and `x.max(y)` are Tensors, `x.max(dim)` is values and indices.
class Extreme:
    @overload
    def __call__(self) -> Tensor: ...
    @overload
    def __call__(self, *, dim: Any, keepdim: Any = ...) -> _values_indices: ...
    @overload
    def __call__(self, dim: Unknown, keepdim: Any = ...) -> Any: ...
    @overload
    def __call__(self, dim: Int, keepdim: Any = ...) -> _values_indices: ...
    @overload
    def __call__(self, other: Tensor) -> Tensor: ...

class ExtremeOf:
    @overload
    def __call__(self, input: Any, *, out: Any = ...) -> Tensor: ...
    @overload
    def __call__(self, input: Any, *, dim: Any, keepdim: Any = ..., out: Any = ...) -> _values_indices: ...
    @overload
    def __call__(self, input: Any, dim: Unknown, keepdim: Any = ..., *, out: Any = ...) -> Any: ...
    @overload
    def __call__(self, input: Any, dim: Int, keepdim: Any = ..., *, out: Any = ...) -> _values_indices: ...
    @overload
    def __call__(self, input: Any, other: Tensor, *, out: Any = ...) -> Tensor: ...

# `x.unique()`: a Tensor, and one more each for the inverse and the counts if requested.
class Unique:
    @overload
    def __call__(self, *args: Any, return_inverse: Literal[True], return_counts: Literal[True], **kwargs: Any) -> tuple[Tensor, Tensor, Tensor]: ...
    @overload
    def __call__(self, *args: Any, return_inverse: Literal[True], dim: Any = ..., sorted: Any = ...) -> tuple[Tensor, Tensor]: ...
    @overload
    def __call__(self, *args: Any, return_counts: Literal[True], dim: Any = ..., sorted: Any = ...) -> tuple[Tensor, Tensor]: ...
    @overload
    def __call__(self, *args: Any, dim: Any = ..., sorted: Any = ...) -> Tensor: ...
    @overload
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

class Nonzero:
    @overload
    def __call__(self, *args: Any, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
    @overload
    def __call__(self, *args: Any, as_tuple: Literal[False] = ...) -> Tensor: ...
    @overload
    def __call__(self, *args: Any, as_tuple: Any) -> Any: ...

# `torch.where(c)` is the tuple of the indices, `torch.where(c, x, y)` is a Tensor.
class Where:
    @overload
    def __call__(self, condition: Any) -> tuple[Tensor, ...]: ...
    @overload
    def __call__(self, condition: Any, input: Any, other: Any, *, out: Any = ...) -> Tensor: ...
