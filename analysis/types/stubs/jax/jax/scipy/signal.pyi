# jax.scipy.signal of JAX 0.10.
from jax._array import Op, Pair, Triple

convolve: Op
convolve2d: Op
correlate: Op
correlate2d: Op
csd: Pair
detrend: Op
fftconvolve: Op
istft: Pair
stft: Triple
welch: Pair
