# jax.ops of JAX 0.10.
from jax._array import Op

segment_max: Op
segment_min: Op
segment_prod: Op
segment_sum: Op
