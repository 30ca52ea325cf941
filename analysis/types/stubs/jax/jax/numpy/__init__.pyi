# jax.numpy of JAX 0.10: functions of Arrays; a few return host values.
from builtins import bool as _bool
from typing import Any, Callable, Literal, overload
from typing_extensions import ParamSpec

from jax._array import Array, Op, Pair, Parts, Pieces, Triple
from jax.numpy import fft as fft, linalg as linalg
from numpy import dtype as _dtype, dtype as dtype, finfo as finfo, iinfo as iinfo

_P = ParamSpec("_P")

ndarray = Array
ufunc = Op

c_: Any
e: float
euler_gamma: float
index_exp: Any
inf: float
mgrid: Any
nan: float
newaxis: None
ogrid: Any
pi: float
r_: Any
s_: Any

# A scalar type: a dtype, and a function that converts its argument to an Array.
class _ScalarType:
    dtype: _dtype[Any]
    def __call__(self, x: Any = ...) -> Array: ...
    def __eq__(self, other: object) -> _bool: ...
    def __hash__(self) -> int: ...

bfloat16: _ScalarType
bool: _ScalarType
bool_: _ScalarType
cdouble: _ScalarType
complex128: _ScalarType
complex64: _ScalarType
complex_: _ScalarType
csingle: _ScalarType
double: _ScalarType
float16: _ScalarType
float32: _ScalarType
float4_e2m1fn: _ScalarType
float64: _ScalarType
float6_e2m3fn: _ScalarType
float6_e3m2fn: _ScalarType
float8_e3m4: _ScalarType
float8_e4m3: _ScalarType
float8_e4m3b11fnuz: _ScalarType
float8_e4m3fn: _ScalarType
float8_e4m3fnuz: _ScalarType
float8_e5m2: _ScalarType
float8_e5m2fnuz: _ScalarType
float8_e8m0fnu: _ScalarType
float_: _ScalarType
int1: _ScalarType
int16: _ScalarType
int2: _ScalarType
int32: _ScalarType
int4: _ScalarType
int64: _ScalarType
int8: _ScalarType
int_: _ScalarType
single: _ScalarType
uint: _ScalarType
uint1: _ScalarType
uint16: _ScalarType
uint2: _ScalarType
uint32: _ScalarType
uint4: _ScalarType
uint64: _ScalarType
uint8: _ScalarType

class character: ...
class complexfloating: ...
class flexible: ...
class floating: ...
class generic: ...
class inexact: ...
class integer: ...
class number: ...
class object_: ...
class signedinteger: ...
class unsignedinteger: ...

abs: Op
absolute: Op
acos: Op
acosh: Op
add: Op
all: Op
allclose: Op
amax: Op
amin: Op
angle: Op
any: Op
append: Op
arange: Op
arccos: Op
arccosh: Op
arcsin: Op
arcsinh: Op
arctan: Op
arctan2: Op
arctanh: Op
argmax: Op
argmin: Op
argpartition: Op
argsort: Op
argwhere: Op
around: Op
array: Op
array_equal: Op
array_equiv: Op
asarray: Op
asin: Op
asinh: Op
astype: Op
atan: Op
atan2: Op
atanh: Op
bartlett: Op
bincount: Op
bitwise_and: Op
bitwise_count: Op
bitwise_invert: Op
bitwise_left_shift: Op
bitwise_not: Op
bitwise_or: Op
bitwise_right_shift: Op
bitwise_xor: Op
blackman: Op
block: Op
broadcast_to: Op
cbrt: Op
ceil: Op
choose: Op
clip: Op
column_stack: Op
compress: Op
concat: Op
concatenate: Op
conj: Op
conjugate: Op
convolve: Op
copy: Op
copysign: Op
corrcoef: Op
correlate: Op
cos: Op
cosh: Op
count_nonzero: Op
cov: Op
cross: Op
cumprod: Op
cumsum: Op
cumulative_prod: Op
cumulative_sum: Op
deg2rad: Op
degrees: Op
delete: Op
diag: Op
diagflat: Op
diagonal: Op
diff: Op
digitize: Op
divide: Op
dot: Op
dstack: Op
ediff1d: Op
einsum: Op
empty: Op
empty_like: Op
equal: Op
exp: Op
exp2: Op
expand_dims: Op
expm1: Op
extract: Op
eye: Op
fabs: Op
fill_diagonal: Op
flatnonzero: Op
flip: Op
fliplr: Op
flipud: Op
float_power: Op
floor: Op
floor_divide: Op
fmax: Op
fmin: Op
fmod: Op
from_dlpack: Op
frombuffer: Op
fromfile: Op
fromiter: Op
fromstring: Op
full: Op
full_like: Op
gcd: Op
geomspace: Op
greater: Op
greater_equal: Op
hamming: Op
hanning: Op
heaviside: Op
histogram_bin_edges: Op
hstack: Op
hypot: Op
i0: Op
identity: Op
imag: Op
indices: Op
inner: Op
insert: Op
interp: Op
invert: Op
isclose: Op
iscomplex: Op
isfinite: Op
isin: Op
isinf: Op
isnan: Op
isneginf: Op
isposinf: Op
isreal: Op
kaiser: Op
kron: Op
lcm: Op
ldexp: Op
left_shift: Op
less: Op
less_equal: Op
lexsort: Op
linspace: Op
log: Op
log10: Op
log1p: Op
log2: Op
logaddexp: Op
logaddexp2: Op
logical_and: Op
logical_not: Op
logical_or: Op
logical_xor: Op
logspace: Op
matmul: Op
matrix_transpose: Op
matvec: Op
max: Op
maximum: Op
mean: Op
median: Op
min: Op
minimum: Op
mod: Op
moveaxis: Op
multiply: Op
nan_to_num: Op
nanargmax: Op
nanargmin: Op
nancumprod: Op
nancumsum: Op
nanmax: Op
nanmean: Op
nanmedian: Op
nanmin: Op
nanpercentile: Op
nanprod: Op
nanquantile: Op
nanstd: Op
nansum: Op
nanvar: Op
negative: Op
nextafter: Op
not_equal: Op
ones: Op
ones_like: Op
outer: Op
packbits: Op
pad: Op
partition: Op
percentile: Op
permute_dims: Op
place: Op
poly: Op
polyadd: Op
polyder: Op
polyfit: Op
polyint: Op
polymul: Op
polysub: Op
polyval: Op
positive: Op
pow: Op
power: Op
prod: Op
ptp: Op
put: Op
put_along_axis: Op
quantile: Op
rad2deg: Op
radians: Op
ravel: Op
ravel_multi_index: Op
real: Op
reciprocal: Op
remainder: Op
repeat: Op
reshape: Op
resize: Op
right_shift: Op
rint: Op
roll: Op
rollaxis: Op
roots: Op
rot90: Op
round: Op
searchsorted: Op
select: Op
setdiff1d: Op
setxor1d: Op
sign: Op
signbit: Op
sin: Op
sinc: Op
sinh: Op
sort: Op
sort_complex: Op
spacing: Op
sqrt: Op
square: Op
squeeze: Op
stack: Op
std: Op
subtract: Op
sum: Op
swapaxes: Op
take: Op
take_along_axis: Op
tan: Op
tanh: Op
tensordot: Op
tile: Op
trace: Op
transpose: Op
trapezoid: Op
tri: Op
tril: Op
trim_zeros: Op
triu: Op
true_divide: Op
trunc: Op
union1d: Op
unique_values: Op
unpackbits: Op
unwrap: Op
vander: Op
var: Op
vdot: Op
vecdot: Op
vecmat: Op
vstack: Op
zeros: Op
zeros_like: Op
divmod: Pair
frexp: Pair
histogram: Pair
modf: Pair
polydiv: Pair
unique_counts: Pair
unique_inverse: Pair
diag_indices: Parts
diag_indices_from: Parts
ix_: Parts
mask_indices: Parts
nonzero: Parts
tril_indices: Parts
tril_indices_from: Parts
triu_indices: Parts
triu_indices_from: Parts
unravel_index: Parts
unstack: Parts
array_split: Pieces
broadcast_arrays: Pieces
dsplit: Pieces
hsplit: Pieces
meshgrid: Pieces
split: Pieces
vsplit: Pieces
histogram2d: Triple

def atleast_1d(*arys: Any) -> Array: ...
def atleast_2d(*arys: Any) -> Array: ...
def atleast_3d(*arys: Any) -> Array: ...
@overload
def average(a: Any, axis: Any = ..., weights: Any = ..., *, returned: Literal[True], keepdims: Any = ...) -> tuple[Array, Array]: ...
@overload
def average(a: Any, axis: Any = ..., weights: Any = ..., returned: Literal[False] = ..., keepdims: Any = ...) -> Array: ...
def apply_along_axis(func1d: Callable[..., Any], axis: Any, arr: Any, *args: Any, **kwargs: Any) -> Array: ...
def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Array: ...
def fromfunction(function: Callable[..., Any], shape: Any, **kwargs: Any) -> Array: ...
@overload
def gradient(f: Any, *varargs: Any, axis: int, edge_order: Any = ...) -> Array: ...
@overload
def gradient(f: Any, *varargs: Any, axis: Any = ..., edge_order: Any = ...) -> Any: ...
def histogramdd(sample: Any, *args: Any, **kwargs: Any) -> tuple[Array, list[Array]]: ...
@overload
def intersect1d(ar1: Any, ar2: Any, assume_unique: Any = ..., *, return_indices: Literal[True], **kwargs: Any) -> tuple[Array, Array, Array]: ...
@overload
def intersect1d(ar1: Any, ar2: Any, assume_unique: Any = ..., return_indices: Literal[False] = ..., **kwargs: Any) -> Array: ...
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kwargs: Any) -> Array: ...
@overload
def unique(ar: Any, *, axis: Any = ..., size: Any = ..., fill_value: Any = ..., equal_nan: Any = ..., sorted: Any = ...) -> Array: ...
@overload
def unique(ar: Any, *args: Any, **kwargs: Any) -> tuple[Array, ...]: ...
def unique_all(x: Any, /, **kwargs: Any) -> tuple[Array, Array, Array, Array]: ...
def vectorize(pyfunc: Callable[_P, Any], *args: Any, **kwargs: Any) -> Callable[_P, Array]: ...
@overload
def where(condition: Any, /, *, size: Any = ..., fill_value: Any = ...) -> tuple[Array, ...]: ...
@overload
def where(condition: Any, x: Any, y: Any, /, **kwargs: Any) -> Array: ...

# ---- functions that return host values
def broadcast_shapes(*shapes: Any) -> tuple[int, ...]: ...
def ndim(a: Any) -> int: ...
def shape(a: Any) -> tuple[int, ...]: ...
def size(a: Any, axis: Any = ...) -> int: ...
def array_repr(*args: Any, **kwargs: Any) -> str: ...
def array_str(*args: Any, **kwargs: Any) -> str: ...
def can_cast(*args: Any, **kwargs: Any) -> _bool: ...
def einsum_path(*args: Any, **kwargs: Any) -> Any: ...
def frompyfunc(*args: Any, **kwargs: Any) -> Any: ...
def get_printoptions(*args: Any, **kwargs: Any) -> dict[str, Any]: ...
def iscomplexobj(*args: Any, **kwargs: Any) -> _bool: ...
def isdtype(*args: Any, **kwargs: Any) -> _bool: ...
def isrealobj(*args: Any, **kwargs: Any) -> _bool: ...
def isscalar(*args: Any, **kwargs: Any) -> _bool: ...
def issubdtype(*args: Any, **kwargs: Any) -> _bool: ...
def iterable(*args: Any, **kwargs: Any) -> _bool: ...
def load(*args: Any, **kwargs: Any) -> Any: ...
def printoptions(*args: Any, **kwargs: Any) -> Any: ...
def promote_types(*args: Any, **kwargs: Any) -> _dtype[Any]: ...
def result_type(*args: Any, **kwargs: Any) -> _dtype[Any]: ...
def save(*args: Any, **kwargs: Any) -> None: ...
def savez(*args: Any, **kwargs: Any) -> None: ...
def set_printoptions(*args: Any, **kwargs: Any) -> None: ...

def __getattr__(name: str) -> Op: ...
