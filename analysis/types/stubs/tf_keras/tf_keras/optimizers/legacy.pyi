# tf_keras.optimizers.legacy of Keras 2 (tf_keras 2.21).
from keras.optimizers import *
