# NumPy 2.4, for environments without it. Every result is a host value, never a Tensor.
import builtins as _py
from typing import Any, Callable, overload

from numpy import fft as fft, linalg as linalg, random as random, testing as testing, typing as typing
from numpy._array import Op, Pair, Parts, Pieces
from numpy._array import (
    bool_ as bool_,
    bytes_ as bytes_,
    character as character,
    complex128 as complex128,
    complex64 as complex64,
    complexfloating as complexfloating,
    datetime64 as datetime64,
    dtype as dtype,
    flexible as flexible,
    float16 as float16,
    float32 as float32,
    float64 as float64,
    floating as floating,
    generic as generic,
    inexact as inexact,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    int8 as int8,
    integer as integer,
    longdouble as longdouble,
    ndarray as ndarray,
    number as number,
    object_ as object_,
    signedinteger as signedinteger,
    str_ as str_,
    timedelta64 as timedelta64,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
    uint8 as uint8,
    unsignedinteger as unsignedinteger,
    void as void,
)

__version__: str
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

bool = bool_
byte = int8
cdouble = complex128
csingle = complex64
double = float64
half = float16
int_ = int64
intc = int32
intp = int64
long = int64
longlong = int64
short = int16
single = float32
ubyte = uint8
uint = uint64
uintc = uint32
uintp = uint64
ulong = uint64
ushort = uint16
ufunc = Op

abs: Op
absolute: Op
acos: Op
acosh: Op
add: Op
all: Op
amax: Op
amin: Op
angle: Op
any: Op
append: Op
apply_along_axis: Op
apply_over_axes: Op
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
asanyarray: Op
asarray: Op
asarray_chkfinite: Op
ascontiguousarray: Op
asfortranarray: Op
asin: Op
asinh: Op
astype: Op
atan: Op
atan2: Op
atanh: Op
atleast_1d: Op
atleast_2d: Op
atleast_3d: Op
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
busday_offset: Op
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
datetime_as_string: Op
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
fix: Op
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
frombuffer: Op
fromfile: Op
fromfunction: Op
fromiter: Op
fromregex: Op
fromstring: Op
full: Op
full_like: Op
gcd: Op
genfromtxt: Op
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
intersect1d: Op
invert: Op
isclose: Op
iscomplex: Op
isfinite: Op
isin: Op
isinf: Op
isnan: Op
isnat: Op
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
loadtxt: Op
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
quantile: Op
rad2deg: Op
radians: Op
ravel: Op
ravel_multi_index: Op
real: Op
real_if_close: Op
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
row_stack: Op
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
unique_all: Op
unique_counts: Op
unique_inverse: Op
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
broadcast_arrays: Parts
diag_indices: Parts
diag_indices_from: Parts
mask_indices: Parts
meshgrid: Parts
nonzero: Parts
tril_indices: Parts
tril_indices_from: Parts
triu_indices: Parts
triu_indices_from: Parts
unravel_index: Parts
unstack: Parts
array_split: Pieces
dsplit: Pieces
hsplit: Pieces
split: Pieces
vsplit: Pieces

@overload
def where(condition: Any, /) -> tuple[ndarray[Any, Any], ...]: ...
@overload
def where(condition: Any, x: Any, y: Any, /) -> ndarray[Any, Any]: ...

@overload
def unique(ar: Any, *, axis: Any = ..., equal_nan: Any = ..., sorted: Any = ...) -> ndarray[Any, Any]: ...
@overload
def unique(ar: Any, *args: Any, **kwargs: Any) -> tuple[ndarray[Any, Any], ...]: ...

class vectorize:
    def __init__(self, pyfunc: Callable[..., Any] = ..., *args: Any, **kwargs: Any) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> ndarray[Any, Any]: ...

class finfo:
    bits: int
    dtype: Any
    eps: float
    max: float
    min: float
    resolution: float
    smallest_normal: float
    tiny: float
    def __init__(self, dtype: Any) -> None: ...

class iinfo:
    bits: int
    dtype: Any
    max: int
    min: int
    def __init__(self, type: Any) -> None: ...

class errstate:
    def __init__(self, **kwargs: Any) -> None: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *args: Any) -> None: ...

def allclose(*args: Any, **kwargs: Any) -> _py.bool: ...
def array_equal(*args: Any, **kwargs: Any) -> _py.bool: ...
def array_equiv(*args: Any, **kwargs: Any) -> _py.bool: ...
def can_cast(*args: Any, **kwargs: Any) -> _py.bool: ...
def is_busday(*args: Any, **kwargs: Any) -> _py.bool: ...
def iscomplexobj(*args: Any, **kwargs: Any) -> _py.bool: ...
def isdtype(*args: Any, **kwargs: Any) -> _py.bool: ...
def isfortran(*args: Any, **kwargs: Any) -> _py.bool: ...
def isrealobj(*args: Any, **kwargs: Any) -> _py.bool: ...
def isscalar(*args: Any, **kwargs: Any) -> _py.bool: ...
def issubdtype(*args: Any, **kwargs: Any) -> _py.bool: ...
def iterable(*args: Any, **kwargs: Any) -> _py.bool: ...
def may_share_memory(*args: Any, **kwargs: Any) -> _py.bool: ...
def shares_memory(*args: Any, **kwargs: Any) -> _py.bool: ...
def array2string(*args: Any, **kwargs: Any) -> str: ...
def array_repr(*args: Any, **kwargs: Any) -> str: ...
def array_str(*args: Any, **kwargs: Any) -> str: ...
def asmatrix(*args: Any, **kwargs: Any) -> Any: ...
def average(*args: Any, **kwargs: Any) -> ndarray[Any, Any]: ...
def base_repr(*args: Any, **kwargs: Any) -> str: ...
def binary_repr(*args: Any, **kwargs: Any) -> str: ...
def bmat(*args: Any, **kwargs: Any) -> Any: ...
def broadcast_shapes(*args: Any, **kwargs: Any) -> tuple[int, ...]: ...
def busday_count(*args: Any, **kwargs: Any) -> Any: ...
def common_type(*args: Any, **kwargs: Any) -> Any: ...
def copyto(*args: Any, **kwargs: Any) -> None: ...
def datetime_data(*args: Any, **kwargs: Any) -> Any: ...
def einsum_path(*args: Any, **kwargs: Any) -> Any: ...
def fill_diagonal(*args: Any, **kwargs: Any) -> None: ...
def format_float_positional(*args: Any, **kwargs: Any) -> str: ...
def format_float_scientific(*args: Any, **kwargs: Any) -> str: ...
def from_dlpack(*args: Any, **kwargs: Any) -> ndarray[Any, Any]: ...
def frompyfunc(*args: Any, **kwargs: Any) -> Any: ...
def get_include(*args: Any, **kwargs: Any) -> str: ...
def get_printoptions(*args: Any, **kwargs: Any) -> dict[str, Any]: ...
def getbufsize(*args: Any, **kwargs: Any) -> int: ...
def geterr(*args: Any, **kwargs: Any) -> dict[str, str]: ...
def geterrcall(*args: Any, **kwargs: Any) -> Any: ...
def gradient(*args: Any, **kwargs: Any) -> Any: ...
def histogram2d(*args: Any, **kwargs: Any) -> tuple[ndarray[Any, Any], ndarray[Any, Any], ndarray[Any, Any]]: ...
def histogramdd(*args: Any, **kwargs: Any) -> tuple[ndarray[Any, Any], list[ndarray[Any, Any]]]: ...
def info(*args: Any, **kwargs: Any) -> None: ...
def ix_(*args: Any, **kwargs: Any) -> tuple[ndarray[Any, Any], ...]: ...
def load(*args: Any, **kwargs: Any) -> Any: ...
def min_scalar_type(*args: Any, **kwargs: Any) -> dtype[Any]: ...
def mintypecode(*args: Any, **kwargs: Any) -> str: ...
def ndim(*args: Any, **kwargs: Any) -> int: ...
def nested_iters(*args: Any, **kwargs: Any) -> Any: ...
def piecewise(*args: Any, **kwargs: Any) -> ndarray[Any, Any]: ...
def place(*args: Any, **kwargs: Any) -> None: ...
def printoptions(*args: Any, **kwargs: Any) -> Any: ...
def promote_types(*args: Any, **kwargs: Any) -> dtype[Any]: ...
def put(*args: Any, **kwargs: Any) -> None: ...
def put_along_axis(*args: Any, **kwargs: Any) -> None: ...
def putmask(*args: Any, **kwargs: Any) -> None: ...
def require(*args: Any, **kwargs: Any) -> ndarray[Any, Any]: ...
def result_type(*args: Any, **kwargs: Any) -> dtype[Any]: ...
def save(*args: Any, **kwargs: Any) -> None: ...
def savetxt(*args: Any, **kwargs: Any) -> None: ...
def savez(*args: Any, **kwargs: Any) -> None: ...
def savez_compressed(*args: Any, **kwargs: Any) -> None: ...
def set_printoptions(*args: Any, **kwargs: Any) -> None: ...
def setbufsize(*args: Any, **kwargs: Any) -> int: ...
def seterr(*args: Any, **kwargs: Any) -> dict[str, str]: ...
def seterrcall(*args: Any, **kwargs: Any) -> Any: ...
def shape(*args: Any, **kwargs: Any) -> tuple[int, ...]: ...
def show_config(*args: Any, **kwargs: Any) -> Any: ...
def show_runtime(*args: Any, **kwargs: Any) -> None: ...
def size(*args: Any, **kwargs: Any) -> int: ...
def test(*args: Any, **kwargs: Any) -> Any: ...
def typename(*args: Any, **kwargs: Any) -> str: ...

def __getattr__(name: str) -> Any: ...
