# tf.keras.backend.
from keras.backend import *
from tensorflow._ops import Op

def __getattr__(name: str) -> Op: ...
