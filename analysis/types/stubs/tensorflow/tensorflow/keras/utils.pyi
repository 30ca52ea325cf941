# tf.keras.utils.
from typing import Any

from keras.utils import *

def __getattr__(name: str) -> Any: ...
