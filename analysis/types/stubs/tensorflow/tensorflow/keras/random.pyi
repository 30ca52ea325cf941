# tf.keras.random.
from keras.random import *
from tensorflow._ops import Op

def __getattr__(name: str) -> Op: ...
