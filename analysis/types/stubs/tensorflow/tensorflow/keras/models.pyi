# tf.keras.models.
from typing import Any

from keras.models import *

def __getattr__(name: str) -> Any: ...
