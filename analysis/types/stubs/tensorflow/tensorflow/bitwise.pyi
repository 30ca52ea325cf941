# tf.bitwise of TensorFlow 2.21.
from tensorflow._ops import Keep, Merge

bitwise_and: Merge
bitwise_or: Merge
bitwise_xor: Merge
invert: Keep
left_shift: Merge
right_shift: Merge
