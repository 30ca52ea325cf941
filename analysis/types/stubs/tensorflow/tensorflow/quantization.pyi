# tf.quantization of TensorFlow 2.21.
from tensorflow._ops import Op

def __getattr__(name: str) -> Op: ...
