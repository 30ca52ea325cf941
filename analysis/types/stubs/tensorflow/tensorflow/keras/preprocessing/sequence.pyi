# tf.keras.preprocessing.sequence.
from typing import Any

from keras.preprocessing.sequence import *

def __getattr__(name: str) -> Any: ...
