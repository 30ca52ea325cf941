# tf_keras.saving of Keras 2 (tf_keras 2.21).
from typing import Any

from keras.saving import *

def __getattr__(name: str) -> Any: ...
