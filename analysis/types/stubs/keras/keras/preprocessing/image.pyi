# keras.preprocessing.image of Keras 3.15.
from typing import Any

from keras.utils import array_to_img as array_to_img, img_to_array as img_to_array, load_img as load_img

def __getattr__(name: str) -> Any: ...
