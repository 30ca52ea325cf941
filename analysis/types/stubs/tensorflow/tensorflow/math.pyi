# tf.math of TensorFlow 2.21. The kinds of ops: `_ops.pyi`.
from typing import Any, Generic, NamedTuple

from tensorflow import _dtypes as _d
from tensorflow._dtypes import D
from tensorflow._ops import Concat, Gives, Keep, Locate, Merge, Op, Sample
from tensorflow._tensor import Like, Tensor

abs: Keep
accumulate_n: Concat
acos: Keep
acosh: Keep
add: Merge
add_n: Concat
angle: Op
argmax: Locate
argmin: Locate
asin: Keep
asinh: Keep
atan: Keep
atan2: Merge
atanh: Keep
bessel_i0: Keep
bessel_i0e: Keep
bessel_i1: Keep
bessel_i1e: Keep
betainc: Op
bincount: Sample[_d.int32]
ceil: Keep
confusion_matrix: Sample[_d.int32]
conj: Keep
cos: Keep
cosh: Keep
count_nonzero: Sample[_d.int64]
cumprod: Keep
cumsum: Keep
cumulative_logsumexp: Keep
digamma: Keep
divide_no_nan: Merge
equal: Gives[_d.bool]
erf: Keep
erfc: Keep
erfcinv: Keep
erfinv: Keep
exp: Keep
expm1: Keep
floor: Keep
floordiv: Merge
floormod: Merge
greater: Gives[_d.bool]
greater_equal: Gives[_d.bool]
igamma: Merge
igammac: Merge
imag: Op
in_top_k: Gives[_d.bool]
invert_permutation: Keep
is_finite: Gives[_d.bool]
is_inf: Gives[_d.bool]
is_nan: Gives[_d.bool]
is_non_decreasing: Gives[_d.bool]
is_strictly_increasing: Gives[_d.bool]
l2_normalize: Keep
lbeta: Keep
less: Gives[_d.bool]
less_equal: Gives[_d.bool]
lgamma: Keep
log: Keep
log1p: Keep
log_sigmoid: Keep
log_softmax: Keep
logical_and: Gives[_d.bool]
logical_not: Gives[_d.bool]
logical_or: Gives[_d.bool]
logical_xor: Gives[_d.bool]
maximum: Merge
minimum: Merge
mod: Merge
multiply: Merge
multiply_no_nan: Merge
ndtri: Keep
negative: Keep
nextafter: Keep
not_equal: Gives[_d.bool]
polygamma: Merge
polyval: Op
pow: Merge
real: Op
reciprocal: Keep
reciprocal_no_nan: Keep
reduce_all: Gives[_d.bool]
reduce_any: Gives[_d.bool]
reduce_euclidean_norm: Keep
reduce_logsumexp: Keep
reduce_max: Keep
reduce_mean: Keep
reduce_min: Keep
reduce_prod: Keep
reduce_std: Keep
reduce_sum: Keep
reduce_variance: Keep
rint: Keep
round: Keep
rsqrt: Keep
scalar_mul: Merge
segment_max: Keep
segment_mean: Keep
segment_min: Keep
segment_prod: Keep
segment_sum: Keep
sigmoid: Keep
sign: Keep
sin: Keep
sinh: Keep
sobol_sample: Sample[_d.float32]
softmax: Keep
softplus: Keep
softsign: Keep
special: Op
sqrt: Keep
square: Keep
squared_difference: Merge
subtract: Merge
tan: Keep
tanh: Keep
unsorted_segment_max: Keep
unsorted_segment_mean: Keep
unsorted_segment_min: Keep
unsorted_segment_prod: Keep
unsorted_segment_sqrt_n: Keep
unsorted_segment_sum: Keep
xdivy: Merge
xlog1py: Merge
xlogy: Merge
zero_fraction: Gives[_d.float32]
zeta: Merge

def divide(x: Like[D], y: Any, name: Any = ...) -> Tensor[D]: ...
def truediv(x: Like[D], y: Any, name: Any = ...) -> Tensor[D]: ...

class _TopK(NamedTuple, Generic[D]):
    values: Tensor[D]
    indices: Tensor[_d.int32]

def top_k(input: Like[D], *args: Any, **kwargs: Any) -> _TopK[D]: ...
def approx_max_k(operand: Like[D], *args: Any, **kwargs: Any) -> tuple[Tensor[D], Tensor[_d.int32]]: ...
def approx_min_k(operand: Like[D], *args: Any, **kwargs: Any) -> tuple[Tensor[D], Tensor[_d.int32]]: ...
def __getattr__(name: str) -> Op: ...
