# tf.lookup of TensorFlow 2.21.
from typing import Any

from tensorflow import _dtypes as _d
from tensorflow._dtypes import DType
from tensorflow._tensor import Tensor

class _Table:
    key_dtype: DType[Any]
    name: str
    resource_handle: Any
    value_dtype: DType[Any]
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getitem__(self, keys: Any) -> Tensor[Any]: ...
    def lookup(self, keys: Any, name: Any = ...) -> Tensor[Any]: ...
    def size(self, name: Any = ...) -> Tensor[_d.int64]: ...

class StaticHashTable(_Table):
    default_value: Tensor[Any]
    def export(self, name: Any = ...) -> tuple[Tensor[Any], Tensor[Any]]: ...

class StaticVocabularyTable(_Table): ...

class KeyValueTensorInitializer:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

class TextFileInitializer:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

TextFileIndex: Any
experimental: Any
