# jax.image of JAX 0.10.
from jax._array import Op

resize: Op
scale_and_translate: Op
ResizeMethod: object
