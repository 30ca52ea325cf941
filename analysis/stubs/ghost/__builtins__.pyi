# Names that inserted annotations and rewritten calls may use in any file.
#
# The modules give every class an unambiguous name, whatever the file imports or shadows:
# `ag_tf_.Tensor[ag_tf_dtypes_.bool]`. The functions are the builtins that AutoGraph overloads:
# they stage on a Tensor or a Dataset and are the builtin on everything else. Of an argument of
# unknown type they say nothing: the overloads differ, so the result is unknown as well.
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

# range(t) is tf.range as soon as one bound is a Tensor.
@typing.overload
def ag_range_(*bounds: int) -> range: ...
@typing.overload
def ag_range_(*bounds: _Tensor[_A] | int) -> _Tensor[_A]: ...
@typing.overload
def ag_range_(*bounds: typing.SupportsIndex) -> range: ...

# len(t) is a Python int where the shape is known, which is what a Python value tests.
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

# sorted(t) is tf.sort.
@typing.overload
def ag_sorted_(s: _Tensor[_A], /, *, key: typing.Any = ..., reverse: typing.Any = ...) -> _Tensor[_A]: ...
@typing.overload
def ag_sorted_(s: typing.Iterable[_A], /, *, key: typing.Any = ..., reverse: typing.Any = ...) -> list[_A]: ...

def ag_print_(*args: typing.Any, **kwargs: typing.Any) -> None: ...
