# tf.keras.applications.
from typing import Any

from keras.applications import *

def __getattr__(name: str) -> Any: ...
