# keras.models of Keras 3.15.
from typing import Any, TypeVar

from keras._model import Model as Model, Sequential as Sequential
from keras.saving import load_model as load_model, save_model as save_model

M = TypeVar("M", bound=Model)

def clone_model(model: M, *args: Any, **kwargs: Any) -> M: ...
def model_from_json(json_string: Any, custom_objects: Any = ...) -> Model: ...
def __getattr__(name: str) -> Any: ...
