# tf.raw_ops of TensorFlow 2.21.
from typing import Any

def __getattr__(name: str) -> Any: ...
