# tf_keras.activations of Keras 2 (tf_keras 2.21).
from keras.activations import *
from tensorflow._ops import Op

def __getattr__(name: str) -> Op: ...
