# jax.lax of JAX 0.10: primitives, collectives and structured control flow.
from typing import Any, Callable, NamedTuple, Sequence, overload
from typing_extensions import TypeVar

from jax._array import Array, Float, Op, Pair, Parts, Pieces, Unknown
from jax.lax import linalg as linalg

T = TypeVar("T")
C = TypeVar("C")
Y = TypeVar("Y")
Arrays = TypeVar("Arrays", bound=tuple[Array, ...])

# A named tuple keeps its class; its numbers become arrays.
Named = TypeVar("Named", bound=NamedTuple)

abs: Op
acos: Op
acosh: Op
add: Op
argmax: Op
argmin: Op
asin: Op
asinh: Op
atan: Op
atan2: Op
atanh: Op
axis_index: Op
batch_matmul: Op
bessel_i0e: Op
bessel_i1e: Op
betainc: Op
bitcast_convert_type: Op
bitwise_and: Op
bitwise_not: Op
bitwise_or: Op
bitwise_xor: Op
broadcast: Op
broadcast_in_dim: Op
broadcast_like: Op
broadcast_to_rank: Op
broadcasted_iota: Op
cbrt: Op
ceil: Op
clamp: Op
clz: Op
collapse: Op
complex: Op
concatenate: Op
conj: Op
conv: Op
conv_general_dilated: Op
conv_general_dilated_local: Op
conv_general_dilated_patches: Op
conv_transpose: Op
conv_with_general_padding: Op
convert_element_type: Op
cos: Op
cosh: Op
cumlogsumexp: Op
cummax: Op
cummin: Op
cumprod: Op
cumsum: Op
digamma: Op
div: Op
dot: Op
dot_general: Op
dynamic_index_in_dim: Op
dynamic_slice: Op
dynamic_slice_in_dim: Op
dynamic_update_index_in_dim: Op
dynamic_update_slice: Op
dynamic_update_slice_in_dim: Op
empty: Op
eq: Op
erf: Op
erf_inv: Op
erfc: Op
exp: Op
exp2: Op
expand_dims: Op
expm1: Op
fft: Op
floor: Op
full: Op
full_like: Op
gather: Op
ge: Op
gt: Op
igamma: Op
igamma_grad_a: Op
igammac: Op
imag: Op
index_in_dim: Op
index_take: Op
integer_pow: Op
iota: Op
is_finite: Op
le: Op
lgamma: Op
log: Op
log1p: Op
logistic: Op
lt: Op
max: Op
min: Op
mul: Op
mulhi: Op
ne: Op
neg: Op
nextafter: Op
pad: Op
polygamma: Op
population_count: Op
pow: Op
ragged_all_to_all: Op
ragged_dot: Op
ragged_dot_general: Op
random_gamma_grad: Op
real: Op
reciprocal: Op
reduce_and: Op
reduce_max: Op
reduce_min: Op
reduce_or: Op
reduce_precision: Op
reduce_prod: Op
reduce_sum: Op
reduce_window: Op
reduce_xor: Op
rem: Op
reshape: Op
rev: Op
rng_uniform: Op
round: Op
rsqrt: Op
scaled_dot: Op
scatter: Op
scatter_add: Op
scatter_apply: Op
scatter_max: Op
scatter_min: Op
scatter_mul: Op
scatter_sub: Op
select: Op
select_n: Op
shift_left: Op
shift_right_arithmetic: Op
shift_right_logical: Op
sign: Op
sin: Op
sinh: Op
slice: Op
slice_in_dim: Op
sqrt: Op
square: Op
squeeze: Op
stack: Op
sub: Op
tan: Op
tanh: Op
tile: Op
transpose: Op
zeta: Op
approx_max_k: Pair
approx_min_k: Pair
rng_bit_generator: Pair
sort_key_val: Pair
split: Pieces
top_k: Pair
unstack: Parts

# ---- structured control flow: a Python number in a branch or a carry becomes an Array
@overload
def cond(pred: Any, true_fun: Callable[[Array], T], false_fun: Callable[[Array], T], operand: Array, /) -> T: ...
@overload
def cond(pred: Any, true_fun: Callable[[Array, Array], T], false_fun: Callable[[Array, Array], T], first: Array, second: Array, /) -> T: ...
@overload
def cond(pred: Any, true_fun: Callable[..., Array | float], false_fun: Callable[..., Array | float], *operands: Any, **kwargs: Any) -> Array: ...
@overload
def cond(pred: Any, true_fun: Callable[..., T], false_fun: Callable[..., T], *operands: Any, **kwargs: Any) -> T: ...
@overload
def cond(pred: Any, true_operand: Any, true_fun: Callable[..., T], false_operand: Any, false_fun: Callable[..., T], /) -> T: ...
@overload
def switch(index: Any, branches: Sequence[Callable[..., Array | float]], *operands: Any, **kwargs: Any) -> Array: ...
@overload
def switch(index: Any, branches: Sequence[Callable[..., T]], *operands: Any, **kwargs: Any) -> T: ...
@overload
def while_loop(cond_fun: Callable[..., Any], body_fun: Callable[..., Any], init_val: Unknown) -> Any: ...
@overload
def while_loop(cond_fun: Callable[..., Any], body_fun: Callable[..., Any], init_val: Float) -> Array: ...
@overload
def while_loop(cond_fun: Callable[..., Any], body_fun: Callable[..., Any], init_val: Named) -> Named: ...
@overload
def while_loop(cond_fun: Callable[..., Any], body_fun: Callable[..., Any], init_val: Arrays) -> Arrays: ...
@overload
def while_loop(cond_fun: Callable[..., Any], body_fun: Callable[..., Any], init_val: tuple[Array | Float, ...]) -> tuple[Array, ...]: ...
@overload
def while_loop(cond_fun: Callable[..., Any], body_fun: Callable[..., Any], init_val: T) -> T: ...
@overload
def fori_loop(lower: Any, upper: Any, body_fun: Callable[..., Any], init_val: Unknown, **kwargs: Any) -> Any: ...
@overload
def fori_loop(lower: Any, upper: Any, body_fun: Callable[..., Any], init_val: Float, **kwargs: Any) -> Array: ...
@overload
def fori_loop(lower: Any, upper: Any, body_fun: Callable[..., Any], init_val: Named, **kwargs: Any) -> Named: ...
@overload
def fori_loop(lower: Any, upper: Any, body_fun: Callable[..., Any], init_val: Arrays, **kwargs: Any) -> Arrays: ...
@overload
def fori_loop(lower: Any, upper: Any, body_fun: Callable[..., Any], init_val: tuple[Array | Float, ...], **kwargs: Any) -> tuple[Array, ...]: ...
@overload
def fori_loop(lower: Any, upper: Any, body_fun: Callable[..., Any], init_val: T, **kwargs: Any) -> T: ...
@overload
def scan(f: Callable[[Array, Array], tuple[Any, Y]], init: Array, xs: Array, *args: Any, **kwargs: Any) -> tuple[Array, Y]: ...
@overload
def scan(f: Callable[..., tuple[Any, Y]], init: Unknown, *args: Any, **kwargs: Any) -> tuple[Any, Y]: ...
@overload
def scan(f: Callable[..., tuple[Any, Y]], init: Float, *args: Any, **kwargs: Any) -> tuple[Array, Y]: ...
@overload
def scan(f: Callable[..., tuple[Any, Y]], init: Named, *args: Any, **kwargs: Any) -> tuple[Named, Y]: ...
@overload
def scan(f: Callable[..., tuple[Any, Y]], init: Arrays, *args: Any, **kwargs: Any) -> tuple[Arrays, Y]: ...
@overload
def scan(f: Callable[..., tuple[Any, Y]], init: tuple[Array | Float, ...], *args: Any, **kwargs: Any) -> tuple[tuple[Array, ...], Y]: ...
@overload
def scan(f: Callable[..., tuple[Any, Y]], init: C, *args: Any, **kwargs: Any) -> tuple[C, Y]: ...
@overload
def map(f: Callable[[Array], T], xs: Array, **kwargs: Any) -> T: ...
@overload
def map(f: Callable[..., T], xs: Any, **kwargs: Any) -> T: ...
def associative_scan(fn: Callable[..., Any], elems: T, *args: Any, **kwargs: Any) -> T: ...
def custom_linear_solve(matvec: Callable[..., Any], b: T, *args: Any, **kwargs: Any) -> T: ...
def custom_root(f: Callable[..., Any], initial_guess: T, *args: Any, **kwargs: Any) -> T: ...
def platform_dependent(*args: Any, default: Callable[..., T] | None = ..., **per_platform: Callable[..., T]) -> T: ...
def composite(decomposition: Callable[..., T], *args: Any, **kwargs: Any) -> Callable[..., T]: ...
@overload
def reduce(operands: Array, init_values: Any, computation: Any, dimensions: Any, **kwargs: Any) -> Array: ...
@overload
def reduce(operands: Any, init_values: Any, computation: Any, dimensions: Any, **kwargs: Any) -> Any: ...
@overload
def sort(operand: Array, dimension: Any = ..., is_stable: Any = ..., num_keys: Any = ...) -> Array: ...
@overload
def sort(operand: tuple[Any, ...] | list[Any], dimension: Any = ..., is_stable: Any = ..., num_keys: Any = ...) -> tuple[Array, ...]: ...

# ---- collectives and identities keep the structure
def all_gather(x: T, *args: Any, **kwargs: Any) -> T: ...
def all_to_all(x: T, *args: Any, **kwargs: Any) -> T: ...
def optimization_barrier(x: T, /, *args: Any, **kwargs: Any) -> T: ...
def pbroadcast(x: T, *args: Any, **kwargs: Any) -> T: ...
def pcast(x: T, *args: Any, **kwargs: Any) -> T: ...
def pmax(x: T, *args: Any, **kwargs: Any) -> T: ...
def pmean(x: T, *args: Any, **kwargs: Any) -> T: ...
def pmin(x: T, *args: Any, **kwargs: Any) -> T: ...
def ppermute(x: T, *args: Any, **kwargs: Any) -> T: ...
def pshuffle(x: T, *args: Any, **kwargs: Any) -> T: ...
def psum(x: T, *args: Any, **kwargs: Any) -> T: ...
def psum_scatter(x: T, *args: Any, **kwargs: Any) -> T: ...
def pswapaxes(x: T, *args: Any, **kwargs: Any) -> T: ...
def stop_gradient(x: T, *args: Any, **kwargs: Any) -> T: ...
def with_sharding_constraint(x: T, *args: Any, **kwargs: Any) -> T: ...

# ---- functions that return host values
def after_all(*args: Any, **kwargs: Any) -> Any: ...
def axis_size(*args: Any, **kwargs: Any) -> int: ...
def broadcast_shapes(*args: Any, **kwargs: Any) -> tuple[int, ...]: ...
def conv_dimension_numbers(*args: Any, **kwargs: Any) -> Any: ...
def conv_general_permutations(*args: Any, **kwargs: Any) -> Any: ...
def conv_general_shape_tuple(*args: Any, **kwargs: Any) -> tuple[int, ...]: ...
def conv_shape_tuple(*args: Any, **kwargs: Any) -> tuple[int, ...]: ...
def conv_transpose_shape_tuple(*args: Any, **kwargs: Any) -> tuple[int, ...]: ...
def create_token(*args: Any, **kwargs: Any) -> Any: ...
def dtype(*args: Any, **kwargs: Any) -> Any: ...
def padtype_to_pads(*args: Any, **kwargs: Any) -> list[tuple[int, int]]: ...
def reduce_window_shape_tuple(*args: Any, **kwargs: Any) -> tuple[int, ...]: ...
def shape_as_value(*args: Any, **kwargs: Any) -> Any: ...

Precision: Any
AccuracyMode: Any
ConvDimensionNumbers: Any
DotAlgorithm: Any
DotAlgorithmPreset: Any
FftType: Any
GatherDimensionNumbers: Any
GatherScatterMode: Any
RaggedDotDimensionNumbers: Any
RandomAlgorithm: Any
RoundingMethod: Any
ScatterDimensionNumbers: Any
Tolerance: Any

def __getattr__(name: str) -> Op: ...
