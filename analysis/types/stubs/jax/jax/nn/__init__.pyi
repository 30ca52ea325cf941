# jax.nn of JAX 0.10.
from jax._array import Op
from jax.nn import initializers as initializers

celu: Op
dot_product_attention: Op
elu: Op
gelu: Op
glu: Op
hard_sigmoid: Op
hard_silu: Op
hard_swish: Op
hard_tanh: Op
identity: Op
leaky_relu: Op
log1mexp: Op
log_sigmoid: Op
log_softmax: Op
logmeanexp: Op
logsumexp: Op
mish: Op
one_hot: Op
relu: Op
relu6: Op
scaled_dot_general: Op
scaled_matmul: Op
selu: Op
sigmoid: Op
silu: Op
soft_sign: Op
softmax: Op
softplus: Op
sparse_plus: Op
sparse_sigmoid: Op
squareplus: Op
standardize: Op
swish: Op
tanh: Op

def __getattr__(name: str) -> Op: ...
