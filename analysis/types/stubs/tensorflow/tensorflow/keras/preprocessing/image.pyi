# tf.keras.preprocessing.image.
from typing import Any

from keras.preprocessing.image import *

def __getattr__(name: str) -> Any: ...
