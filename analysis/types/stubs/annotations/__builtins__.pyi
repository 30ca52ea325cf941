# Names that annotated source can use in any file.
#
# The modules give every class an unambiguous name, whatever the file imports or shadows:
# `ag_tf_.Tensor[ag_tf_dtypes_.bool]`. The functions are the builtins that AutoGraph overloads:
# they return Tensors for a Tensor or a Dataset, and behave as the builtin for everything else. `sum` replaces the
# builtin in all dialects.
# For an argument of unknown type the overloads differ, so the result is unknown as well.
import builtins
import collections.abc
import typing

import jax
import numpy
import tensorflow
import tensorflow._dtypes
import tensorflow.data
import torch
from tensorflow import _dtypes as _d
from tensorflow._tensor import Tensor as _Tensor, TensorArray as _TensorArray
from tensorflow.data import Dataset as _Dataset

ag_abc_ = collections.abc
ag_builtins_ = builtins
ag_jax_ = jax
ag_numpy_ = numpy
ag_tf_ = tensorflow
ag_tf_dtypes_ = tensorflow._dtypes
ag_torch_ = torch
ag_typing_ = typing

_A = typing.TypeVar("_A")
_B = typing.TypeVar("_B")
_C = typing.TypeVar("_C")
_D = typing.TypeVar("_D")

# int(t) casts to int32, float(t) to float32.
@typing.overload
def ag_int_(x: _Tensor[typing.Any], base: typing.Any = ...) -> _Tensor[_d.int32]: ...
@typing.overload
def ag_int_(x: object = ..., base: typing.Any = ...) -> int: ...
@typing.overload
def ag_float_(x: _Tensor[typing.Any]) -> _Tensor[_d.float32]: ...
@typing.overload
def ag_float_(x: object = ...) -> float: ...

# abs(t) is tf.abs; abs(dataset) maps it over the elements.
@typing.overload
def ag_abs_(x: _Tensor[_A]) -> _Tensor[_A]: ...
@typing.overload
def ag_abs_(x: _Dataset[_A]) -> _Dataset[_A]: ...
@typing.overload
def ag_abs_(x: typing.SupportsAbs[_A]) -> _A: ...

# range(t) is tf.range if any bound is a Tensor.
@typing.overload
def ag_range_(*bounds: int) -> range: ...
@typing.overload
def ag_range_(*bounds: _Tensor[_A] | int) -> _Tensor[_A]: ...
@typing.overload
def ag_range_(*bounds: typing.SupportsIndex) -> range: ...

# len(t) is a Python int where the shape is static.
@typing.overload
def ag_len_(s: _Dataset[typing.Any], /) -> _Tensor[_d.int64]: ...
@typing.overload
def ag_len_(s: _TensorArray[typing.Any], /) -> _Tensor[_d.int32]: ...
@typing.overload
def ag_len_(s: object, /) -> int: ...

@typing.overload
def ag_enumerate_(s: _Dataset[_A], start: typing.Any = ...) -> _Dataset[tuple[_Tensor[_d.int64], _A]]: ...
@typing.overload
def ag_enumerate_(s: typing.Iterable[_A], start: typing.Any = ...) -> enumerate[_A]: ...

@typing.overload
def ag_zip_(a: _Dataset[_A], b: _Dataset[_B], /) -> _Dataset[tuple[_A, _B]]: ...
@typing.overload
def ag_zip_(a: _Dataset[_A], b: _Dataset[_B], c: _Dataset[_C], /) -> _Dataset[tuple[_A, _B, _C]]: ...
@typing.overload
def ag_zip_(a: typing.Iterable[_A], /, *, strict: typing.Any = ...) -> zip[tuple[_A]]: ...
@typing.overload
def ag_zip_(a: typing.Iterable[_A], b: typing.Iterable[_B], /, *, strict: typing.Any = ...) -> zip[tuple[_A, _B]]: ...
@typing.overload
def ag_zip_(a: typing.Iterable[_A], b: typing.Iterable[_B], c: typing.Iterable[_C], /, *, strict: typing.Any = ...) -> zip[tuple[_A, _B, _C]]: ...
@typing.overload
def ag_zip_(a: typing.Iterable[_A], b: typing.Iterable[_B], c: typing.Iterable[_C], d: typing.Iterable[_D], /, *, strict: typing.Any = ...) -> zip[tuple[_A, _B, _C, _D]]: ...
@typing.overload
def ag_zip_(*iterables: typing.Any, strict: typing.Any = ...) -> zip[tuple[typing.Any, ...]]: ...

@typing.overload
def ag_map_(f: typing.Callable[[_A], _B], a: _Dataset[_A], /) -> _Dataset[_B]: ...
@typing.overload
def ag_map_(f: typing.Callable[..., _B], a: _Dataset[typing.Any], /, *rest: typing.Any) -> _Dataset[_B]: ...
@typing.overload
def ag_map_(f: typing.Callable[[_A], _B], a: typing.Iterable[_A], /) -> map[_B]: ...
@typing.overload
def ag_map_(f: typing.Callable[..., _B], /, *iterables: typing.Any) -> map[_B]: ...

@typing.overload
def ag_filter_(f: typing.Any, a: _Dataset[_A], /) -> _Dataset[_A]: ...
@typing.overload
def ag_filter_(f: typing.Any, a: typing.Iterable[_A], /) -> filter[_A]: ...

@typing.overload
def ag_any_(s: _Dataset[typing.Any], /) -> _Tensor[_d.bool]: ...
@typing.overload
def ag_any_(s: object, /) -> bool: ...
@typing.overload
def ag_all_(s: _Dataset[typing.Any], /) -> _Tensor[_d.bool]: ...
@typing.overload
def ag_all_(s: object, /) -> bool: ...

# sorted(t) is tf.sort. A value assumed to be a Tensor may really be a list of axes.
@typing.overload
def ag_sorted_(s: ag_tensor_, /, *, key: typing.Any = ..., reverse: typing.Any = ...) -> typing.Any: ...
@typing.overload
def ag_sorted_(s: _Tensor[_A], /, *, key: typing.Any = ..., reverse: typing.Any = ...) -> _Tensor[_A]: ...
@typing.overload
def ag_sorted_(s: typing.Iterable[_A], /, *, key: typing.Any = ..., reverse: typing.Any = ...) -> list[_A]: ...

# sum(values) is 0 for no values. A sum of Tensors counts as a Tensor.
@typing.overload
def ag_sum_(values: typing.Iterable[bool] | typing.Iterable[int], /, start: int = ...) -> int: ...
@typing.overload
def ag_sum_(values: typing.Iterable[_A], /) -> _A: ...
@typing.overload
def ag_sum_(values: typing.Iterable[_A], /, start: _B) -> _A | _B: ...

def ag_print_(*args: typing.Any, **kwargs: typing.Any) -> None: ...

# A parameter that receives a Tensor of unknown dtype.
class ag_untyped_(_Tensor[typing.Any]): ...

# The argument of a Keras method or of a mapped function when nothing determines its type: a Tensor,
# or a structure of Tensors. Operators return Tensors; an item can have any type.
class ag_tensor_(_Tensor[typing.Any]):
    @typing.overload
    def __getitem__(self, key: tuple[typing.Any, ...]) -> _Tensor[typing.Any]: ...
    @typing.overload
    def __getitem__(self, key: typing.Any) -> typing.Any: ...
    def __setitem__(self, key: typing.Any, value: typing.Any) -> None: ...
    def __iter__(self) -> typing.Iterator[typing.Any]: ...
    def __getattr__(self, name: str) -> typing.Any: ...

# The argument of a `tf.function`: the same, and a loop over it is staged.
class ag_argument_(ag_tensor_): ...

class ag_array_(jax.Array):
    @typing.overload
    def __getitem__(self, key: tuple[typing.Any, ...]) -> jax.Array: ...
    @typing.overload
    def __getitem__(self, key: typing.Any) -> typing.Any: ...
    def __iter__(self) -> typing.Iterator[typing.Any]: ...
    def __getattr__(self, name: str) -> typing.Any: ...

# The operands of operators in annotated source. For an operator with an operand of unknown type, ty infers Unknown, but
# an operator on a Tensor returns a Tensor, whatever the other operand is. So an operand of unknown type becomes an
# `ag_unknown_`: the operators of Tensors accept it, and those of other values do not, so its own operators apply.
@typing.final
class _Nothing: ...

_Unknown = typing.TypeVar("_Unknown", bound=_Nothing, default=typing.Any)

@typing.overload
def ag_operand_(x: _Unknown, /) -> ag_unknown_: ...
@typing.overload
def ag_operand_(x: _A, /) -> _A: ...

# A decorator that returns the function that it receives, or one with the same result.
class _SameFunction:
    def __call__(self, function: _A, /) -> _A: ...

def ag_decorator_(decorator: object, /) -> _SameFunction: ...

def ag_nested_(x: typing.Any, /) -> typing.Any: ...

class ag_unknown_:
    def __getattr__(self, name: str) -> typing.Any: ...
    def __iter__(self) -> typing.Iterator[typing.Any]: ...
    @typing.overload
    def _computes(self, other: torch.Tensor, /) -> torch.Tensor: ...
    @typing.overload
    def _computes(self, other: jax.Array, /) -> jax.Array: ...
    @typing.overload
    def _computes(self, other: _Tensor[typing.Any], /) -> _Tensor[typing.Any]: ...
    @typing.overload
    def _computes(self, other: typing.Any, /) -> typing.Any: ...
    __add__ = _computes
    __sub__ = _computes
    __mul__ = _computes
    __truediv__ = _computes
    __floordiv__ = _computes
    __pow__ = _computes
    __matmul__ = _computes
    __and__ = _computes
    __or__ = _computes
    __xor__ = _computes
    @typing.overload
    def _compares(self, other: torch.Tensor, /) -> torch.Tensor: ...
    @typing.overload
    def _compares(self, other: jax.Array, /) -> jax.Array: ...
    @typing.overload
    def _compares(self, other: _Tensor[typing.Any], /) -> _Tensor[_d.bool]: ...
    @typing.overload
    def _compares(self, other: typing.Any, /) -> typing.Any: ...
    __lt__ = _compares
    __le__ = _compares
    __gt__ = _compares
    __ge__ = _compares
    __eq__ = _compares
    __ne__ = _compares
    def _other(self, other: typing.Any, /) -> typing.Any: ...
    __mod__ = _other
    __lshift__ = _other
    __rshift__ = _other
    __divmod__ = _other
    __radd__ = _other
    __rsub__ = _other
    __rmul__ = _other
    __rtruediv__ = _other
    __rfloordiv__ = _other
    __rpow__ = _other
    __rmatmul__ = _other
    __rand__ = _other
    __ror__ = _other
    __rxor__ = _other
    __rmod__ = _other
    __rlshift__ = _other
    __rrshift__ = _other
    __rdivmod__ = _other
    def __neg__(self) -> typing.Any: ...
    __pos__ = __neg__
    __invert__ = __neg__
