# tf.keras.ops.
from keras.ops import *
from tensorflow._ops import Op

def __getattr__(name: str) -> Op: ...
