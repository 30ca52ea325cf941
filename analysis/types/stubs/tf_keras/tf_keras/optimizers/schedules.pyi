# tf_keras.optimizers.schedules of Keras 2 (tf_keras 2.21).
from keras.optimizers.schedules import *
