# tf.keras.optimizers.schedules.
from keras.optimizers.schedules import *
