# tf.compat.v2 of TensorFlow 2.21.
from typing import Any

from tensorflow import *

def __getattr__(name: str) -> Any: ...
