# tf.keras.preprocessing.text.
from typing import Any

from keras.preprocessing.text import *

def __getattr__(name: str) -> Any: ...
