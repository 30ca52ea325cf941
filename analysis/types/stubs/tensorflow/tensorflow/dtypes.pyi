# tf.dtypes of TensorFlow 2.21: every dtype object has the type DType[marker].
from typing import Any

from tensorflow import _dtypes as _d
from tensorflow._dtypes import DType as DType, Spec as _Spec
from tensorflow._ops import Gives as _Gives, cast as cast, saturate_cast as saturate_cast

bfloat16: DType[_d.bfloat16]
float16: DType[_d.float16]
half: DType[_d.float16]
float32: DType[_d.float32]
float64: DType[_d.float64]
double: DType[_d.float64]
complex64: DType[_d.complex64]
complex128: DType[_d.complex128]
int8: DType[_d.int8]
int16: DType[_d.int16]
int32: DType[_d.int32]
int64: DType[_d.int64]
uint8: DType[_d.uint8]
uint16: DType[_d.uint16]
uint32: DType[_d.uint32]
uint64: DType[_d.uint64]
bool: DType[_d.bool]
string: DType[_d.string]
resource: DType[_d.resource]
variant: DType[_d.variant]
qint8: DType[Any]
qint16: DType[Any]
qint32: DType[Any]
quint8: DType[Any]
quint16: DType[Any]

complex: _Gives[Any]

def as_dtype(type_value: _Spec[_d.D] | Any) -> DType[_d.D]: ...
def __getattr__(name: str) -> Any: ...
