# torch.nn.functional of PyTorch 2.11. The kinds of ops: `torch/_ops.pyi`.
from typing import Any, Literal, overload

from torch import Tensor
from torch._ops import Op

adaptive_avg_pool1d: Op
adaptive_avg_pool2d: Op
adaptive_avg_pool3d: Op
affine_grid: Op
alpha_dropout: Op
avg_pool1d: Op
avg_pool2d: Op
avg_pool3d: Op
batch_norm: Op
bilinear: Op
binary_cross_entropy: Op
binary_cross_entropy_with_logits: Op
celu: Op
celu_: Op
channel_shuffle: Op
conv1d: Op
conv2d: Op
conv3d: Op
conv_tbc: Op
conv_transpose1d: Op
conv_transpose2d: Op
conv_transpose3d: Op
cosine_embedding_loss: Op
cosine_similarity: Op
cross_entropy: Op
ctc_loss: Op
dropout: Op
dropout1d: Op
dropout2d: Op
dropout3d: Op
elu: Op
elu_: Op
embedding: Op
embedding_bag: Op
feature_alpha_dropout: Op
fold: Op
gaussian_nll_loss: Op
gelu: Op
glu: Op
grid_sample: Op
group_norm: Op
grouped_mm: Op
gumbel_softmax: Op
hardshrink: Op
hardsigmoid: Op
hardswish: Op
hardtanh: Op
hardtanh_: Op
hinge_embedding_loss: Op
huber_loss: Op
instance_norm: Op
interpolate: Op
kl_div: Op
l1_loss: Op
layer_norm: Op
leaky_relu: Op
leaky_relu_: Op
linear: Op
local_response_norm: Op
log_softmax: Op
logsigmoid: Op
lp_pool1d: Op
lp_pool2d: Op
lp_pool3d: Op
margin_ranking_loss: Op
max_unpool1d: Op
max_unpool2d: Op
max_unpool3d: Op
mish: Op
mse_loss: Op
multi_margin_loss: Op
multilabel_margin_loss: Op
multilabel_soft_margin_loss: Op
native_channel_shuffle: Op
nll_loss: Op
normalize: Op
one_hot: Op
pad: Op
pairwise_distance: Op
pdist: Op
pixel_shuffle: Op
pixel_unshuffle: Op
poisson_nll_loss: Op
prelu: Op
relu: Op
relu6: Op
relu_: Op
rms_norm: Op
rrelu: Op
rrelu_: Op
scaled_dot_product_attention: Op
scaled_grouped_mm: Op
scaled_mm: Op
selu: Op
selu_: Op
sigmoid: Op
silu: Op
smooth_l1_loss: Op
soft_margin_loss: Op
softmax: Op
softmin: Op
softplus: Op
softshrink: Op
softsign: Op
tanh: Op
tanhshrink: Op
threshold: Op
threshold_: Op
triplet_margin_loss: Op
triplet_margin_with_distance_loss: Op
unfold: Op
upsample: Op
upsample_bilinear: Op
upsample_nearest: Op
adaptive_max_pool1d: _MaxPool
adaptive_max_pool2d: _MaxPool
adaptive_max_pool3d: _MaxPool
fractional_max_pool2d: _MaxPool
fractional_max_pool3d: _MaxPool
max_pool1d: _MaxPool
max_pool2d: _MaxPool
max_pool3d: _MaxPool

class _MaxPool:
    @overload
    def __call__(self, *args: Any, return_indices: Literal[True], **kwargs: Any) -> tuple[Tensor, Tensor]: ...
    @overload
    def __call__(self, *args: Any, **kwargs: Any) -> Tensor: ...

def adaptive_max_pool1d_with_indices(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]: ...
def adaptive_max_pool2d_with_indices(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]: ...
def adaptive_max_pool3d_with_indices(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]: ...
def fractional_max_pool2d_with_indices(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]: ...
def fractional_max_pool3d_with_indices(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]: ...
def max_pool1d_with_indices(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]: ...
def max_pool2d_with_indices(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]: ...
def max_pool3d_with_indices(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]: ...
def multi_head_attention_forward(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor | None]: ...
def __getattr__(name: str) -> Op: ...
