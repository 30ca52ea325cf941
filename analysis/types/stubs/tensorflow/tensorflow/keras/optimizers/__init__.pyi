# tf.keras.optimizers.
from typing import Any

from keras.optimizers import *
from tensorflow.keras.optimizers import schedules as schedules

def __getattr__(name: str) -> Any: ...
