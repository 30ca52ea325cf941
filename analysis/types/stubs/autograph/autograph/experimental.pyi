# autograph.experimental.
from tensorflow.autograph.experimental import Feature as Feature
