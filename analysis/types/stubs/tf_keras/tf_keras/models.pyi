# tf_keras.models of Keras 2 (tf_keras 2.21).
from typing import Any

from keras.models import clone_model as clone_model, load_model as load_model, save_model as save_model
from keras.models import Model as _Model, Sequential as _Sequential

class Model(_Model): ...
class Sequential(_Sequential): ...

def __getattr__(name: str) -> Any: ...
