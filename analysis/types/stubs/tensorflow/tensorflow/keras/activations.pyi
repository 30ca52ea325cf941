# tf.keras.activations.
from keras.activations import *
from tensorflow._ops import Op

def __getattr__(name: str) -> Op: ...
