# keras.ops of Keras 3.15. The kinds of ops: `tensorflow/_ops.pyi`.
from builtins import bool as _bool
from typing import Any, Callable, Sequence, overload
from typing_extensions import TypeVar

from numpy import ndarray
from tensorflow import Tensor, _dtypes as _d
from tensorflow._dtypes import D, Spec
from tensorflow._ops import Gives, Keep, Op, Split
from tensorflow._tensor import Float, Like, Unknown

T = TypeVar("T")
C = TypeVar("C")
Y = TypeVar("Y")

adaptive_average_pool: Op
adaptive_max_pool: Op
allclose: Op
amax: Op
amin: Op
angle: Op
append: Op
arange: Op
arccos: Op
arccosh: Op
arcsin: Op
arcsinh: Op
arctan: Op
arctan2: Op
arctanh: Op
argpartition: Op
argsort: Op
array: Op
average_pool: Op
bartlett: Op
batch_normalization: Op
binary_crossentropy: Op
bincount: Op
bitwise_and: Op
bitwise_invert: Op
bitwise_left_shift: Op
bitwise_not: Op
bitwise_or: Op
bitwise_right_shift: Op
bitwise_xor: Op
blackman: Op
broadcast_to: Op
categorical_crossentropy: Op
cbrt: Op
cdist: Op
ceil: Op
celu: Op
cholesky: Op
cholesky_inverse: Op
concatenate: Op
conj: Op
conjugate: Op
conv: Op
conv_transpose: Op
corrcoef: Op
correlate: Op
cosh: Op
count_nonzero: Op
cross: Op
ctc_loss: Op
deg2rad: Op
depth_to_space: Op
depthwise_conv: Op
det: Op
diag: Op
diagflat: Op
diagonal: Op
diff: Op
digitize: Op
divide: Op
divide_no_nan: Op
dot: Op
dot_product_attention: Op
dstack: Op
einsum: Op
empty: Op
empty_like: Op
erfc: Op
erfinv: Op
exp2: Op
extract_sequences: Op
eye: Op
fabs: Op
fliplr: Op
flipud: Op
floor_divide: Op
fmax: Op
fmin: Op
fmod: Op
fold: Op
full: Op
full_like: Op
gcd: Op
geomspace: Op
get_item: Op
glu: Op
hamming: Op
hanning: Op
hard_shrink: Op
hard_sigmoid: Op
hard_silu: Op
hard_swish: Op
hard_tanh: Op
heaviside: Op
hstack: Op
hypot: Op
i0: Op
imag: Op
inner: Op
inv: Op
irfft: Op
istft: Op
kaiser: Op
kron: Op
layer_normalization: Op
lcm: Op
ldexp: Op
left_shift: Op
linspace: Op
log_sigmoid: Op
logaddexp: Op
logaddexp2: Op
logdet: Op
logspace: Op
lstsq: Op
matmul: Op
matrix_rank: Op
max_pool: Op
mean: Op
median: Op
mod: Op
multi_hot: Op
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
nextafter: Op
norm: Op
one_hot: Op
ones: Op
ones_like: Op
outer: Op
percentile: Op
pinv: Op
polar: Op
psnr: Op
ptp: Op
quantile: Op
rad2deg: Op
ravel: Op
real: Op
rearrange: Op
reciprocal: Op
right_shift: Op
rms_normalization: Op
rot90: Op
saturate_cast: Op
scatter: Op
scatter_update: Op
searchsorted: Op
segment_max: Op
segment_min: Op
segment_prod: Op
segment_sum: Op
select: Op
separable_conv: Op
sinc: Op
sinh: Op
size: Op
slice: Op
slice_update: Op
soft_shrink: Op
softsign: Op
solve: Op
solve_triangular: Op
space_to_depth: Op
sparse_categorical_crossentropy: Op
sparse_plus: Op
sparse_sigmoid: Op
sparsemax: Op
squareplus: Op
stack: Op
std: Op
swish: Op
tanh_shrink: Op
tensordot: Op
threshold: Op
trace: Op
trapezoid: Op
tri: Op
tril: Op
triu: Op
true_divide: Op
trunc: Op
unfold: Op
unravel_index: Op
vander: Op
var: Op
vdot: Op
view: Op
view_as_complex: Op
view_as_real: Op
vstack: Op
zeros: Op
zeros_like: Op
abs: Keep
absolute: Keep
add: Keep
average: Keep
clip: Keep
copy: Keep
cos: Keep
cumprod: Keep
cumsum: Keep
elu: Keep
erf: Keep
exp: Keep
expand_dims: Keep
expm1: Keep
flip: Keep
floor: Keep
gelu: Keep
identity: Keep
leaky_relu: Keep
log: Keep
log10: Keep
log1p: Keep
log2: Keep
log_softmax: Keep
logsumexp: Keep
max: Keep
maximum: Keep
min: Keep
minimum: Keep
moveaxis: Keep
multiply: Keep
negative: Keep
normalize: Keep
pad: Keep
power: Keep
prod: Keep
relu: Keep
relu6: Keep
repeat: Keep
reshape: Keep
roll: Keep
round: Keep
rsqrt: Keep
selu: Keep
sigmoid: Keep
sign: Keep
silu: Keep
sin: Keep
softmax: Keep
softplus: Keep
sort: Keep
sqrt: Keep
square: Keep
squeeze: Keep
stop_gradient: Keep
subtract: Keep
sum: Keep
swapaxes: Keep
take: Keep
take_along_axis: Keep
tan: Keep
tanh: Keep
tile: Keep
transpose: Keep
all: Gives[_d.bool]
any: Gives[_d.bool]
equal: Gives[_d.bool]
greater: Gives[_d.bool]
greater_equal: Gives[_d.bool]
in_top_k: Gives[_d.bool]
isclose: Gives[_d.bool]
isfinite: Gives[_d.bool]
isin: Gives[_d.bool]
isinf: Gives[_d.bool]
isnan: Gives[_d.bool]
isneginf: Gives[_d.bool]
isposinf: Gives[_d.bool]
isreal: Gives[_d.bool]
less: Gives[_d.bool]
less_equal: Gives[_d.bool]
logical_and: Gives[_d.bool]
logical_not: Gives[_d.bool]
logical_or: Gives[_d.bool]
logical_xor: Gives[_d.bool]
not_equal: Gives[_d.bool]
signbit: Gives[_d.bool]
array_split: Split
dsplit: Split
hsplit: Split
meshgrid: Split
split: Split
unstack: Split
vsplit: Split
argmax: Gives[_d.int32]
argmin: Gives[_d.int32]

def ctc_decode(*args: Any, **kwargs: Any) -> tuple[Tensor[Any], Tensor[Any]]: ...
def eig(*args: Any, **kwargs: Any) -> tuple[Tensor[Any], Tensor[Any]]: ...
def eigh(*args: Any, **kwargs: Any) -> tuple[Tensor[Any], Tensor[Any]]: ...
def fft(*args: Any, **kwargs: Any) -> tuple[Tensor[Any], Tensor[Any]]: ...
def fft2(*args: Any, **kwargs: Any) -> tuple[Tensor[Any], Tensor[Any]]: ...
def histogram(*args: Any, **kwargs: Any) -> tuple[Tensor[Any], Tensor[Any]]: ...
def ifft2(*args: Any, **kwargs: Any) -> tuple[Tensor[Any], Tensor[Any]]: ...
def lu_factor(*args: Any, **kwargs: Any) -> tuple[Tensor[Any], Tensor[Any]]: ...
def moments(*args: Any, **kwargs: Any) -> tuple[Tensor[Any], Tensor[Any]]: ...
def qr(*args: Any, **kwargs: Any) -> tuple[Tensor[Any], Tensor[Any]]: ...
def rfft(*args: Any, **kwargs: Any) -> tuple[Tensor[Any], Tensor[Any]]: ...
def slogdet(*args: Any, **kwargs: Any) -> tuple[Tensor[Any], Tensor[Any]]: ...
def stft(*args: Any, **kwargs: Any) -> tuple[Tensor[Any], Tensor[Any]]: ...
def top_k(*args: Any, **kwargs: Any) -> tuple[Tensor[Any], Tensor[Any]]: ...
def cast(x: Any, dtype: Spec[D]) -> Tensor[D]: ...
@overload
def convert_to_tensor(x: Like[D], **kwargs: Any) -> Tensor[D]: ...
@overload
def convert_to_tensor(x: Any, dtype: Spec[D] | None, **kwargs: Any) -> Tensor[D]: ...
def custom_gradient(f: Callable[..., Any]) -> Callable[..., Any]: ...
def jvp(*args: Any, **kwargs: Any) -> tuple[Any, Any]: ...
def nonzero(x: Any) -> tuple[Tensor[Any], ...]: ...
def svd(x: Any, *args: Any, **kwargs: Any) -> tuple[Tensor[Any], Tensor[Any], Tensor[Any]]: ...
def unique(*args: Any, **kwargs: Any) -> Any: ...
def vectorize(pyfunc: Callable[..., T], **kwargs: Any) -> Callable[..., T]: ...
@overload
def where(condition: Any) -> tuple[Tensor[Any], ...]: ...
@overload
def where(condition: Any, x1: Like[D], x2: Like[D]) -> Tensor[D]: ...

# ---- structured control flow
@overload
def cond(pred: Any, true_fn: Callable[[], Tensor[D] | float], false_fn: Callable[[], Tensor[D] | float]) -> Tensor[D]: ...
@overload
def cond(pred: Any, true_fn: Callable[[], T], false_fn: Callable[[], T]) -> T: ...
def switch(index: Any, branches: Sequence[Callable[..., T]], *operands: Any) -> T: ...
def while_loop(cond: Callable[..., Any], body: Callable[..., Any], loop_vars: T, maximum_iterations: Any = ...) -> T: ...
@overload
def fori_loop(lower: Any, upper: Any, body_fun: Callable[..., Any], init_val: Unknown) -> Any: ...
@overload
def fori_loop(lower: Any, upper: Any, body_fun: Callable[..., Any], init_val: Float) -> Tensor[Any]: ...
@overload
def fori_loop(lower: Any, upper: Any, body_fun: Callable[..., Any], init_val: T) -> T: ...
def scan(f: Callable[..., tuple[Any, Y]], init: C, *args: Any, **kwargs: Any) -> tuple[C, Y]: ...
def map(f: Callable[..., T], xs: Any) -> T: ...
def vectorized_map(function: Callable[..., T], elements: Any) -> T: ...
def associative_scan(f: Callable[..., Any], elems: T, *args: Any, **kwargs: Any) -> T: ...

# ---- host values; a dimension that is not static is a Tensor
def convert_to_numpy(x: Any) -> ndarray[Any, Any]: ...
def dtype(x: Any) -> str: ...
def is_tensor(x: Any) -> _bool: ...
def ndim(x: Any) -> int: ...
def shape(x: Any) -> tuple[Any, ...]: ...
def __getattr__(name: str) -> Op: ...
