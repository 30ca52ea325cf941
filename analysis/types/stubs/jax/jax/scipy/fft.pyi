# jax.scipy.fft of JAX 0.10.
from jax._array import Op

def __getattr__(name: str) -> Op: ...
