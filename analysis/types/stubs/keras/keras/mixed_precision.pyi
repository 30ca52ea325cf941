# keras.mixed_precision of Keras 3.15.
from typing import Any

def __getattr__(name: str) -> Any: ...
