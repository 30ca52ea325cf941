# tf.keras.saving.
from typing import Any

from keras.saving import *

def __getattr__(name: str) -> Any: ...
