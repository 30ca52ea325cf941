# keras.datasets of Keras 3.15: NumPy arrays.
from typing import Any

from numpy import ndarray

_Arrays = tuple[ndarray[Any, Any], ndarray[Any, Any]]

class _Dataset:
    def load_data(self, *args: Any, **kwargs: Any) -> tuple[_Arrays, _Arrays]: ...
    def get_word_index(self, path: Any = ...) -> dict[str, int]: ...

boston_housing: _Dataset
california_housing: _Dataset
cifar10: _Dataset
cifar100: _Dataset
fashion_mnist: _Dataset
imdb: _Dataset
mnist: _Dataset
reuters: _Dataset
