# keras.preprocessing.sequence of Keras 3.15.
from typing import Any

from keras.utils import pad_sequences as pad_sequences

def __getattr__(name: str) -> Any: ...
