# tf_keras.backend of Keras 2 (tf_keras 2.21).
from keras.backend import *
from tensorflow._ops import Op

def __getattr__(name: str) -> Op: ...
