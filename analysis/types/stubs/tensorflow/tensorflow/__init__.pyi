# TensorFlow 2.21, the top-level namespace. The kinds of ops: `_ops.pyi`; the values: `_tensor.pyi`.
import builtins as _py
from typing import Any, Callable, Generic, Mapping, NamedTuple, Sequence, overload
from typing_extensions import ParamSpec, Self, TypeVar

from keras import (
    initializers as initializers,
    losses as losses,
    metrics as metrics,
    optimizers as optimizers,
)
from numpy import ndarray as _ndarray
from tensorflow import (
    audio as audio,
    autograph as autograph,
    bitwise as bitwise,
    compat as compat,
    config as config,
    data as data,
    debugging as debugging,
    distribute as distribute,
    dtypes as dtypes,
    errors as errors,
    experimental as experimental,
    feature_column as feature_column,
    image as image,
    io as io,
    keras as keras,
    linalg as linalg,
    lookup as lookup,
    math as math,
    nest as nest,
    nn as nn,
    python as python,
    queue as queue,
    quantization as quantization,
    ragged as ragged,
    random as random,
    raw_ops as raw_ops,
    saved_model as saved_model,
    sets as sets,
    signal as signal,
    sparse as sparse,
    strings as strings,
    summary as summary,
    test as test,
    train as train,
    types as types,
)
from tensorflow import _dtypes as _d
from tensorflow._dtypes import D as _D, DType as DType, Spec as _Spec
from tensorflow._ops import (
    Concat as _Concat,
    Convert as _Convert,
    Count as _Count,
    Fill as _Fill,
    Gives as _Gives,
    Imitate as _Imitate,
    Keep as _Keep,
    Merge as _Merge,
    Op as _Op,
    Range as _Range,
    Sample as _Sample,
    Split as _Split,
    cast as cast,
    saturate_cast as saturate_cast,
)
from tensorflow._tensor import (
    Bool as _Bool,
    Float as _Float,
    IndexedSlices as IndexedSlices,
    IndexedSlicesSpec as IndexedSlicesSpec,
    Int as _Int,
    Like as _Like,
    RaggedTensor as RaggedTensor,
    RaggedTensorSpec as RaggedTensorSpec,
    SparseTensor as SparseTensor,
    SparseTensorSpec as SparseTensorSpec,
    Tensor as Tensor,
    TensorArray as TensorArray,
    TensorArraySpec as TensorArraySpec,
    TensorShape as TensorShape,
    TensorSpec as TensorSpec,
    TypeSpec as TypeSpec,
    Unknown as _Unknown,
    Variable as Variable,
)
from tensorflow.debugging import (
    Assert as Assert,
    assert_equal as assert_equal,
    assert_greater as assert_greater,
    assert_less as assert_less,
    assert_rank as assert_rank,
)
from tensorflow.dtypes import (
    as_dtype as as_dtype,
    bfloat16 as bfloat16,
    bool as bool,
    complex128 as complex128,
    complex64 as complex64,
    double as double,
    float16 as float16,
    float32 as float32,
    float64 as float64,
    half as half,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    int8 as int8,
    qint16 as qint16,
    qint32 as qint32,
    qint8 as qint8,
    quint16 as quint16,
    quint8 as quint8,
    resource as resource,
    string as string,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
    uint8 as uint8,
    variant as variant,
)
from tensorflow.linalg import (
    eig as eig,
    eigvals as eigvals,
    einsum as einsum,
    eye as eye,
    matmul as matmul,
    norm as norm,
    tensordot as tensordot,
)
from tensorflow.math import (
    abs as abs,
    acos as acos,
    acosh as acosh,
    add as add,
    add_n as add_n,
    argmax as argmax,
    argmin as argmin,
    asin as asin,
    asinh as asinh,
    atan as atan,
    atan2 as atan2,
    atanh as atanh,
    cos as cos,
    cosh as cosh,
    cumsum as cumsum,
    divide as divide,
    equal as equal,
    exp as exp,
    floor as floor,
    greater as greater,
    greater_equal as greater_equal,
    less as less,
    less_equal as less_equal,
    logical_and as logical_and,
    logical_not as logical_not,
    logical_or as logical_or,
    maximum as maximum,
    minimum as minimum,
    multiply as multiply,
    negative as negative,
    not_equal as not_equal,
    pow as pow,
    reduce_all as reduce_all,
    reduce_any as reduce_any,
    reduce_logsumexp as reduce_logsumexp,
    reduce_max as reduce_max,
    reduce_mean as reduce_mean,
    reduce_min as reduce_min,
    reduce_prod as reduce_prod,
    reduce_sum as reduce_sum,
    round as round,
    scalar_mul as scalar_mul,
    sigmoid as sigmoid,
    sign as sign,
    sin as sin,
    sinh as sinh,
    sqrt as sqrt,
    square as square,
    subtract as subtract,
    tan as tan,
    tanh as tanh,
    truediv as truediv,
)
from tensorflow.strings import as_string as as_string

_T = TypeVar("_T")
_S = TypeVar("_S")
_F = TypeVar("_F", bound=Callable[..., Any])
_P = ParamSpec("_P")
_E = TypeVar("_E", default=Any)
_Tensors = TypeVar("_Tensors", bound=_py.tuple[Tensor[Any], ...])

__version__: str
newaxis: None

# ---- creating and reshaping Tensors
constant: _Convert
convert_to_tensor: _Convert
range: _Range
zeros: _Fill[_d.float32]
ones: _Fill[_d.float32]
one_hot: _Sample[_d.float32]
sequence_mask: _Sample[_d.bool]
histogram_fixed_width: _Sample[_d.int32]
histogram_fixed_width_bins: _Sample[_d.int32]
zeros_like: _Imitate
ones_like: _Imitate
shape: _Count
size: _Count
rank: _Gives[_d.int32]
argsort: _Gives[_d.int32]
edit_distance: _Gives[_d.float32]
timestamp: _Gives[_d.float64]
fingerprint: _Gives[_d.uint8]
batch_to_space: _Keep
boolean_mask: _Keep
broadcast_to: _Keep
clip_by_norm: _Keep
clip_by_value: _Keep
ensure_shape: _Keep
expand_dims: _Keep
extract_volume_patches: _Keep
gather: _Keep
gather_nd: _Keep
grad_pass_through: Any
guarantee_const: _Keep
identity: _Keep
linspace: _Merge
matrix_square_root: _Keep
pad: _Keep
random_index_shuffle: _Keep
realdiv: _Merge
repeat: _Keep
reshape: _Keep
reverse: _Keep
reverse_sequence: _Keep
roll: _Keep
slice: _Keep
sort: _Keep
space_to_batch: _Keep
space_to_batch_nd: _Keep
squeeze: _Keep
stop_gradient: _Keep
strided_slice: _Keep
tensor_scatter_nd_add: _Keep
tensor_scatter_nd_max: _Keep
tensor_scatter_nd_min: _Keep
tensor_scatter_nd_sub: _Keep
tensor_scatter_nd_update: _Keep
tile: _Keep
transpose: _Keep
truncatediv: _Merge
truncatemod: _Merge
unravel_index: _Keep
bitcast: _Op
broadcast_dynamic_shape: _Op
complex: _Op
dynamic_stitch: _Op
concat: _Concat
parallel_stack: _Concat
stack: _Concat
split: _Split
unstack: _Split

@overload
def fill(dims: Any, value: Tensor[_E] | _Unknown, name: Any = ..., layout: Any = ...) -> Tensor[_E]: ...
@overload
def fill(dims: Any, value: _Bool, name: Any = ..., layout: Any = ...) -> Tensor[_d.bool]: ...
@overload
def fill(dims: Any, value: _Int, name: Any = ..., layout: Any = ...) -> Tensor[_d.int32]: ...
@overload
def fill(dims: Any, value: _Float, name: Any = ..., layout: Any = ...) -> Tensor[_d.float32]: ...
@overload
def fill(dims: Any, value: object, name: Any = ..., layout: Any = ...) -> Tensor[Any]: ...
def scatter_nd(indices: Any, updates: _Like[_E], shape: Any, name: Any = ...) -> Tensor[_E]: ...
@overload
def where(condition: Any, *, name: Any = ...) -> Tensor[_d.int64]: ...
@overload
def where(condition: Any, x: _Like[_E], y: _Like[_E], name: Any = ...) -> Tensor[_E]: ...
@overload
def searchsorted(sorted_sequence: Any, values: Any, side: Any = ..., *, name: Any = ...) -> Tensor[_d.int32]: ...
@overload
def searchsorted(sorted_sequence: Any, values: Any, side: Any = ..., *, out_type: _Spec[_E], name: Any = ...) -> Tensor[_E]: ...
def broadcast_static_shape(shape_x: Any, shape_y: Any) -> TensorShape: ...
def dynamic_partition(data: _Like[_E], partitions: Any, num_partitions: Any, name: Any = ...) -> list[Tensor[_E]]: ...
def identity_n(input: Sequence[_Like[_E]] | Any, name: Any = ...) -> list[Tensor[_E]]: ...
def meshgrid(*args: _Like[_E], **kwargs: Any) -> list[Tensor[_E]]: ...
def shape_n(input: Any, *args: Any, **kwargs: Any) -> list[Tensor[_d.int32]]: ...
def tuple(tensors: Sequence[_Like[_E]] | Any, *args: Any, **kwargs: Any) -> list[Tensor[_E]]: ...
def required_space_to_batch_paddings(*args: Any, **kwargs: Any) -> _py.tuple[Tensor[_d.int32], Tensor[_d.int32]]: ...
def clip_by_global_norm(t_list: Any, clip_norm: Any, use_norm: Any = ..., name: Any = ...) -> _py.tuple[list[Tensor[Any]], Tensor[_d.float32]]: ...
def approx_top_k(input: _Like[_E], *args: Any, **kwargs: Any) -> _py.tuple[Tensor[_E], Tensor[_d.int32]]: ...

class _Unique(NamedTuple, Generic[_D]):
    y: Tensor[_D]
    idx: Tensor[_d.int32]

class _UniqueWithCounts(NamedTuple, Generic[_D]):
    y: Tensor[_D]
    idx: Tensor[_d.int32]
    count: Tensor[_d.int32]

def unique(x: _Like[_D], *args: Any, **kwargs: Any) -> _Unique[_D]: ...
def unique_with_counts(x: _Like[_D], *args: Any, **kwargs: Any) -> _UniqueWithCounts[_D]: ...

# ---- properties of a value that are Python values at trace time
def executing_eagerly() -> _py.bool: ...
def inside_function() -> _py.bool: ...
def is_tensor(x: Any) -> _py.bool: ...
def is_symbolic_tensor(tensor: Any) -> _py.bool: ...
def get_static_value(tensor: Any, partial: Any = ...) -> _ndarray[Any, Any] | None: ...
def get_current_name_scope() -> str: ...
def make_ndarray(tensor: Any) -> _ndarray[Any, Any]: ...
def make_tensor_proto(values: Any, *args: Any, **kwargs: Any) -> Any: ...
def type_spec_from_value(value: Any) -> TypeSpec: ...

# ---- higher-order functions
@overload
def function(func: _F, *args: Any, **kwargs: Any) -> _F: ...
@overload
def function(func: None = ..., *args: Any, **kwargs: Any) -> Callable[[_F], _F]: ...
@overload
def custom_gradient(f: Callable[_P, _py.tuple[_T, Any]]) -> Callable[_P, _T]: ...
@overload
def custom_gradient(f: None = ...) -> Callable[[Callable[_P, _py.tuple[_T, Any]]], Callable[_P, _T]]: ...
def recompute_grad(f: _F) -> _F: ...

# A Python number returned by a branch or a loop becomes a Tensor.
@overload
def cond(pred: Any, true_fn: Callable[[], Tensor[_E] | float], false_fn: Callable[[], Tensor[_E] | float], name: Any = ...) -> Tensor[_E]: ...
@overload
def cond(pred: Any, true_fn: Callable[[], _T], false_fn: Callable[[], _T], name: Any = ...) -> _T: ...
def case(pred_fn_pairs: Sequence[_py.tuple[Any, Callable[[], _T]]], default: Callable[[], _T] | None = ..., *args: Any, **kwargs: Any) -> _T: ...
def switch_case(branch_index: Any, branch_fns: Sequence[Callable[[], _T]] | Mapping[int, Callable[[], _T]], default: Callable[[], _T] | None = ..., name: Any = ...) -> _T: ...
@overload
def while_loop(cond: Callable[..., Any], body: Callable[..., Any], loop_vars: _Tensors, *args: Any, **kwargs: Any) -> _Tensors: ...
@overload
def while_loop(cond: Callable[..., Any], body: Callable[..., Any], loop_vars: _py.tuple[Tensor[Any] | _Float, ...], *args: Any, **kwargs: Any) -> _py.tuple[Tensor[Any], ...]: ...
@overload
def while_loop(cond: Callable[..., Any], body: Callable[..., Any], loop_vars: list[Tensor[Any] | float], *args: Any, **kwargs: Any) -> list[Tensor[Any]]: ...
@overload
def while_loop(cond: Callable[..., Any], body: Callable[..., Any], loop_vars: _T, *args: Any, **kwargs: Any) -> _T: ...
@overload
def map_fn(fn: Callable[[Tensor[Any]], _T], elems: Tensor[Any], *args: Any, **kwargs: Any) -> _T: ...
@overload
def map_fn(fn: Callable[..., _T], elems: Any, *args: Any, **kwargs: Any) -> _T: ...
@overload
def vectorized_map(fn: Callable[[Tensor[Any]], _T], elems: Tensor[Any], *args: Any, **kwargs: Any) -> _T: ...
@overload
def vectorized_map(fn: Callable[..., _T], elems: Any, *args: Any, **kwargs: Any) -> _T: ...
@overload
def scan(fn: Callable[..., Any], elems: _S, initializer: None = ..., *args: Any, **kwargs: Any) -> _S: ...
@overload
def scan(fn: Callable[..., Any], elems: Any, initializer: _Unknown, *args: Any, **kwargs: Any) -> Any: ...
@overload
def scan(fn: Callable[..., Any], elems: Any, initializer: _Float, *args: Any, **kwargs: Any) -> Tensor[Any]: ...
@overload
def scan(fn: Callable[..., Any], elems: Any, initializer: _T, *args: Any, **kwargs: Any) -> _T: ...
@overload
def foldl(fn: Callable[..., Any], elems: _S, initializer: None = ..., *args: Any, **kwargs: Any) -> _S: ...
@overload
def foldl(fn: Callable[..., Any], elems: Any, initializer: _Unknown, *args: Any, **kwargs: Any) -> Any: ...
@overload
def foldl(fn: Callable[..., Any], elems: Any, initializer: _Float, *args: Any, **kwargs: Any) -> Tensor[Any]: ...
@overload
def foldl(fn: Callable[..., Any], elems: Any, initializer: _T, *args: Any, **kwargs: Any) -> _T: ...
@overload
def foldr(fn: Callable[..., Any], elems: _S, initializer: None = ..., *args: Any, **kwargs: Any) -> _S: ...
@overload
def foldr(fn: Callable[..., Any], elems: Any, initializer: _Unknown, *args: Any, **kwargs: Any) -> Any: ...
@overload
def foldr(fn: Callable[..., Any], elems: Any, initializer: _Float, *args: Any, **kwargs: Any) -> Tensor[Any]: ...
@overload
def foldr(fn: Callable[..., Any], elems: Any, initializer: _T, *args: Any, **kwargs: Any) -> _T: ...
@overload
def py_function(func: Callable[..., Any], inp: Any, Tout: DType[_E], name: Any = ...) -> Tensor[_E]: ...
@overload
def py_function(func: Callable[..., Any], inp: Any, Tout: Sequence[Any], name: Any = ...) -> list[Tensor[Any]]: ...
@overload
def numpy_function(func: Callable[..., Any], inp: Any, Tout: DType[_E], stateful: Any = ..., name: Any = ...) -> Tensor[_E]: ...
@overload
def numpy_function(func: Callable[..., Any], inp: Any, Tout: Sequence[Any], stateful: Any = ..., name: Any = ...) -> list[Tensor[Any]]: ...
def gradients(ys: Any, xs: Any, *args: Any, **kwargs: Any) -> list[Tensor[Any]]: ...
def hessians(ys: Any, xs: Any, *args: Any, **kwargs: Any) -> list[Tensor[Any]]: ...

class GradientTape:
    def __init__(self, persistent: Any = ..., watch_accessed_variables: Any = ...) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *args: Any) -> None: ...
    @overload
    def gradient(self, target: Any, sources: Tensor[_E], *args: Any, **kwargs: Any) -> Tensor[_E]: ...
    @overload
    def gradient(self, target: Any, sources: list[Any], *args: Any, **kwargs: Any) -> list[Tensor[Any]]: ...
    @overload
    def gradient(self, target: Any, sources: _py.tuple[Any, Any], *args: Any, **kwargs: Any) -> _py.tuple[Tensor[Any], Tensor[Any]]: ...
    @overload
    def gradient(self, target: Any, sources: _py.tuple[Any, ...], *args: Any, **kwargs: Any) -> _py.tuple[Tensor[Any], ...]: ...
    @overload
    def gradient(self, target: Any, sources: Mapping[_S, Any], *args: Any, **kwargs: Any) -> dict[_S, Tensor[Any]]: ...
    @overload
    def gradient(self, target: Any, sources: Any, *args: Any, **kwargs: Any) -> Any: ...
    @overload
    def jacobian(self, target: Any, sources: Tensor[_E], *args: Any, **kwargs: Any) -> Tensor[_E]: ...
    @overload
    def jacobian(self, target: Any, sources: list[Any], *args: Any, **kwargs: Any) -> list[Tensor[Any]]: ...
    @overload
    def jacobian(self, target: Any, sources: Any, *args: Any, **kwargs: Any) -> Any: ...
    def batch_jacobian(self, target: Any, source: _Like[_E], *args: Any, **kwargs: Any) -> Tensor[_E]: ...
    def reset(self) -> None: ...
    def stop_recording(self) -> Any: ...
    def watch(self, tensor: Any) -> None: ...
    def watched_variables(self) -> _py.tuple[Variable[Any], ...]: ...

# ---- stateful objects
class Module:
    name: str
    name_scope: Any
    submodules: _py.tuple[Module, ...]
    trainable_variables: _py.tuple[Variable[Any], ...]
    non_trainable_variables: _py.tuple[Variable[Any], ...]
    variables: _py.tuple[Variable[Any], ...]
    def __init__(self, name: Any = ...) -> None: ...
    @classmethod
    def with_name_scope(cls, method: _F) -> _F: ...

class Operation:
    device: str
    graph: Graph
    inputs: Sequence[Tensor[Any]]
    name: str
    outputs: list[Tensor[Any]]
    type: str
    def get_attr(self, name: Any) -> Any: ...
    def run(self, feed_dict: Any = ..., session: Any = ...) -> None: ...

class Graph:
    building_function: _py.bool
    finalized: _py.bool
    seed: int
    def __getattr__(self, name: str) -> Any: ...
    def as_default(self) -> Any: ...

class CriticalSection:
    name: str
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def execute(self, fn: Callable[[], _T], *args: Any, **kwargs: Any) -> _T: ...

class DeviceSpec:
    device_index: int
    device_type: str
    job: str
    replica: int
    task: int
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def to_string(self) -> str: ...

class _Context:
    def __enter__(self) -> Any: ...
    def __exit__(self, *args: Any) -> None: ...

class name_scope(_Context):
    name: str
    def __init__(self, name: Any) -> None: ...
    def __enter__(self) -> str: ...

def control_dependencies(control_inputs: Any) -> _Context: ...
def device(device_name: Any) -> _Context: ...
def init_scope() -> _Context: ...
def variable_creator_scope(variable_creator: Any) -> _Context: ...

def group(*inputs: Any, **kwargs: Any) -> Operation: ...
def no_op(name: Any = ...) -> Operation: ...
def no_gradient(op_type: Any) -> None: ...
def print(*inputs: Any, **kwargs: Any) -> Operation: ...
def register_tensor_conversion_function(*args: Any, **kwargs: Any) -> None: ...
def get_logger() -> Any: ...
def import_graph_def(*args: Any, **kwargs: Any) -> Any: ...
def load_library(library_location: Any) -> None: ...
def load_op_library(library_filename: Any) -> Any: ...

class constant_initializer:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __call__(self, shape: Any, dtype: Any = ..., **kwargs: Any) -> Tensor[Any]: ...

class ones_initializer(constant_initializer): ...
class random_normal_initializer(constant_initializer): ...
class random_uniform_initializer(constant_initializer): ...
class zeros_initializer(constant_initializer): ...

class AggregationMethod:
    ADD_N: int
    DEFAULT: int
    EXPERIMENTAL_ACCUMULATE_N: int
    EXPERIMENTAL_TREE: int

class UnconnectedGradients:
    NONE: Any
    ZERO: Any

class VariableAggregation:
    MEAN: Any
    NONE: Any
    ONLY_FIRST_REPLICA: Any
    SUM: Any

class VariableSynchronization:
    AUTO: Any
    NONE: Any
    ON_READ: Any
    ON_WRITE: Any

# Names that are not modelled, and names of other versions of TensorFlow.
def __getattr__(name: str) -> Any: ...
