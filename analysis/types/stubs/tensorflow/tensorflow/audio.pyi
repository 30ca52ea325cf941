# tf.audio of TensorFlow 2.21.
from typing import Any, NamedTuple

from tensorflow import _dtypes as _d
from tensorflow._ops import Gives
from tensorflow._tensor import Tensor

encode_wav: Gives[_d.string]

class _DecodeWav(NamedTuple):
    audio: Tensor[_d.float32]
    sample_rate: Tensor[_d.int32]

def decode_wav(contents: Any, *args: Any, **kwargs: Any) -> _DecodeWav: ...
