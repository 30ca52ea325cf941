# keras.activations of Keras 3.15.
from typing import Any

from tensorflow._ops import Keep, Op

celu: Keep
elu: Keep
exponential: Keep
gelu: Keep
glu: Keep
hard_shrink: Keep
hard_sigmoid: Keep
hard_silu: Keep
hard_swish: Keep
hard_tanh: Keep
leaky_relu: Keep
linear: Keep
log_sigmoid: Keep
log_softmax: Keep
mish: Keep
relu: Keep
relu6: Keep
selu: Keep
sigmoid: Keep
silu: Keep
soft_shrink: Keep
softmax: Keep
softplus: Keep
softsign: Keep
sparse_plus: Keep
sparse_sigmoid: Keep
sparsemax: Keep
squareplus: Keep
swish: Keep
tanh: Keep
tanh_shrink: Keep
threshold: Keep

def deserialize(config: Any, custom_objects: Any = ...) -> Op: ...
def get(identifier: Any) -> Op: ...
def serialize(activation: Any) -> Any: ...
def __getattr__(name: str) -> Op: ...
