# tf.keras.initializers.
from typing import Any

from keras.initializers import *

def __getattr__(name: str) -> Any: ...
