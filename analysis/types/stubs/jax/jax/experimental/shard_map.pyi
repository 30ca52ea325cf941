# jax.experimental.shard_map of JAX 0.10.
from jax import shard_map as shard_map
