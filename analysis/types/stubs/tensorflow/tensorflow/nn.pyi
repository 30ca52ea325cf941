# tf.nn of TensorFlow 2.21. The kinds of ops: `_ops.pyi`.
from typing import Any

from tensorflow import _dtypes as _d
from tensorflow._dtypes import D
from tensorflow._ops import Keep, Op
from tensorflow._tensor import Like, SparseTensor, Tensor
from tensorflow.math import (
    approx_max_k as approx_max_k,
    approx_min_k as approx_min_k,
    in_top_k as in_top_k,
    l2_normalize as l2_normalize,
    log_softmax as log_softmax,
    sigmoid as sigmoid,
    softmax as softmax,
    softplus as softplus,
    softsign as softsign,
    tanh as tanh,
    top_k as top_k,
    zero_fraction as zero_fraction,
)

atrous_conv2d: Keep
atrous_conv2d_transpose: Keep
avg_pool: Keep
avg_pool1d: Keep
avg_pool2d: Keep
avg_pool3d: Keep
batch_norm_with_global_normalization: Keep
batch_normalization: Keep
bias_add: Keep
compute_average_loss: Op
conv1d: Keep
conv1d_transpose: Keep
conv2d: Keep
conv2d_transpose: Keep
conv3d: Keep
conv3d_transpose: Keep
conv_transpose: Keep
convolution: Keep
crelu: Keep
ctc_loss: Op
depth_to_space: Keep
depthwise_conv2d: Keep
depthwise_conv2d_backprop_filter: Op
depthwise_conv2d_backprop_input: Op
dilation2d: Keep
dropout: Keep
elu: Keep
embedding_lookup: Keep
embedding_lookup_sparse: Op
erosion2d: Keep
gelu: Keep
isotonic_regression: Keep
l2_loss: Keep
leaky_relu: Keep
local_response_normalization: Keep
log_poisson_loss: Op
lrn: Keep
max_pool: Keep
max_pool1d: Keep
max_pool2d: Keep
max_pool3d: Keep
nce_loss: Op
pool: Keep
relu: Keep
relu6: Keep
safe_embedding_lookup_sparse: Op
sampled_softmax_loss: Op
scale_regularization_loss: Keep
selu: Keep
separable_conv2d: Keep
silu: Keep
space_to_batch: Keep
space_to_depth: Keep
swish: Keep
with_space_to_batch: Op

def softmax_cross_entropy_with_logits(labels: Any, logits: Like[D], axis: Any = ..., name: Any = ...) -> Tensor[D]: ...
def sparse_softmax_cross_entropy_with_logits(labels: Any, logits: Like[D], name: Any = ...) -> Tensor[D]: ...
def sigmoid_cross_entropy_with_logits(labels: Any = ..., logits: Like[D] = ..., name: Any = ...) -> Tensor[D]: ...
def weighted_cross_entropy_with_logits(labels: Any, logits: Like[D], pos_weight: Any, name: Any = ...) -> Tensor[D]: ...
def moments(x: Like[D], axes: Any, *args: Any, **kwargs: Any) -> tuple[Tensor[D], Tensor[D]]: ...
def weighted_moments(x: Like[D], axes: Any, *args: Any, **kwargs: Any) -> tuple[Tensor[D], Tensor[D]]: ...
def normalize_moments(counts: Any, mean_ss: Like[D], *args: Any, **kwargs: Any) -> tuple[Tensor[D], Tensor[D]]: ...
def sufficient_statistics(x: Like[D], axes: Any, *args: Any, **kwargs: Any) -> tuple[Tensor[D], Tensor[D], Tensor[D], Tensor[D]]: ...
def max_pool_with_argmax(input: Like[D], *args: Any, **kwargs: Any) -> tuple[Tensor[D], Tensor[_d.int64]]: ...
def fractional_avg_pool(value: Like[D], *args: Any, **kwargs: Any) -> tuple[Tensor[D], Tensor[_d.int64], Tensor[_d.int64]]: ...
def fractional_max_pool(value: Like[D], *args: Any, **kwargs: Any) -> tuple[Tensor[D], Tensor[_d.int64], Tensor[_d.int64]]: ...
def ctc_beam_search_decoder(inputs: Any, *args: Any, **kwargs: Any) -> tuple[list[SparseTensor[_d.int64]], Tensor[_d.float32]]: ...
def ctc_greedy_decoder(inputs: Any, *args: Any, **kwargs: Any) -> tuple[list[SparseTensor[_d.int64]], Tensor[_d.float32]]: ...
def ctc_unique_labels(labels: Any, name: Any = ...) -> tuple[Tensor[_d.int32], Tensor[_d.int32]]: ...
def collapse_repeated(labels: Like[D], *args: Any, **kwargs: Any) -> tuple[Tensor[D], Tensor[_d.int32]]: ...
def compute_accidental_hits(*args: Any, **kwargs: Any) -> tuple[Tensor[_d.int32], Tensor[_d.int64], Tensor[_d.float32]]: ...
def all_candidate_sampler(*args: Any, **kwargs: Any) -> tuple[Tensor[_d.int64], Tensor[_d.float32], Tensor[_d.float32]]: ...
def fixed_unigram_candidate_sampler(*args: Any, **kwargs: Any) -> tuple[Tensor[_d.int64], Tensor[_d.float32], Tensor[_d.float32]]: ...
def learned_unigram_candidate_sampler(*args: Any, **kwargs: Any) -> tuple[Tensor[_d.int64], Tensor[_d.float32], Tensor[_d.float32]]: ...

class RNNCellDeviceWrapper:
    def __init__(self, cell: Any, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: str) -> Any: ...

class RNNCellDropoutWrapper(RNNCellDeviceWrapper): ...
class RNNCellResidualWrapper(RNNCellDeviceWrapper): ...

experimental: Any
def __getattr__(name: str) -> Op: ...
