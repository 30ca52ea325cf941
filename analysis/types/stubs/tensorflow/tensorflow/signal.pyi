# tf.signal of TensorFlow 2.21.
from typing import Any

from tensorflow import _dtypes as _d
from tensorflow._ops import Gives, Keep, Op

dct: Keep
fft: Gives[_d.complex64]
fft2d: Gives[_d.complex64]
fft3d: Gives[_d.complex64]
fftshift: Keep
frame: Keep
hamming_window: Gives[_d.float32]
hann_window: Gives[_d.float32]
idct: Keep
ifft: Gives[_d.complex64]
ifft2d: Gives[_d.complex64]
ifft3d: Gives[_d.complex64]
ifftshift: Keep
inverse_mdct: Keep
inverse_stft: Gives[_d.float32]
irfft: Gives[_d.float32]
irfft2d: Gives[_d.float32]
irfft3d: Gives[_d.float32]
kaiser_bessel_derived_window: Gives[_d.float32]
kaiser_window: Gives[_d.float32]
linear_to_mel_weight_matrix: Gives[_d.float32]
mdct: Keep
mfccs_from_log_mel_spectrograms: Keep
overlap_and_add: Keep
rfft: Gives[_d.complex64]
rfft2d: Gives[_d.complex64]
rfft3d: Gives[_d.complex64]
stft: Gives[_d.complex64]
vorbis_window: Gives[_d.float32]

def inverse_stft_window_fn(*args: Any, **kwargs: Any) -> Any: ...
def __getattr__(name: str) -> Op: ...
