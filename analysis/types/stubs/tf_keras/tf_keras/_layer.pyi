# The base layer of Keras 2 (tf_keras 2.21), apart from that of Keras 3: AutoGraph converts what derives from this one.
from typing import Any

from keras import Layer as _Layer

class Layer(_Layer):
    def add_update(self, updates: Any) -> None: ...
