# tf.keras.config.
from typing import Any

from keras.config import *

def __getattr__(name: str) -> Any: ...
