# tf_keras.applications of Keras 2 (tf_keras 2.21).
from typing import Any

from keras.applications import *

def __getattr__(name: str) -> Any: ...
