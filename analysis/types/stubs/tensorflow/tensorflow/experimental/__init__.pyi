# tf.experimental of TensorFlow 2.21.
from typing import Any

from tensorflow.data import Optional as Optional
from tensorflow.experimental import numpy as numpy

class ExtensionType:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

class BatchableExtensionType(ExtensionType): ...

dlpack: Any
dtensor: Any
def __getattr__(name: str) -> Any: ...
