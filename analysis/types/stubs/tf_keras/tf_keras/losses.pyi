# tf_keras.losses of Keras 2 (tf_keras 2.21).
from typing import Any

from keras.losses import *
from keras.losses import Loss as _Loss

class Loss(_Loss): ...

def __getattr__(name: str) -> Any: ...
