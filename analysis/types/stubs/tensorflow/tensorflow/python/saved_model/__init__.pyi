# tensorflow.python.saved_model of TensorFlow 2.21, the private tree: nothing is promised about it.
from typing import Any

def __getattr__(name: str) -> Any: ...
