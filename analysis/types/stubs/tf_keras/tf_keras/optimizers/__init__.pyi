# tf_keras.optimizers of Keras 2 (tf_keras 2.21).
from typing import Any

from keras.optimizers import *
from tf_keras.optimizers import legacy as legacy, schedules as schedules

def __getattr__(name: str) -> Any: ...
