# The base layer of Keras 2 (tf_keras 2.21). AutoGraph converts its subclasses, but not those of the Keras 3 base.
from typing import Any

from keras import Layer as _Layer

class Layer(_Layer):
    def add_update(self, updates: Any) -> None: ...
