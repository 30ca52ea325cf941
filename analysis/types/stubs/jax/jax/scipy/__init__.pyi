# jax.scipy of JAX 0.10.
from jax.scipy import (
    fft as fft,
    linalg as linalg,
    ndimage as ndimage,
    optimize as optimize,
    signal as signal,
    special as special,
    stats as stats,
)
