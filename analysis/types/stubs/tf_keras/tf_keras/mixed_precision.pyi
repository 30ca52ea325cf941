# tf_keras.mixed_precision of Keras 2 (tf_keras 2.21).
from typing import Any

from keras.mixed_precision import *

def __getattr__(name: str) -> Any: ...
