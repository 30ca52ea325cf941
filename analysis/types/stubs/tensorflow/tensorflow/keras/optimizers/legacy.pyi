# tf.keras.optimizers.legacy: the optimizers of Keras 2 under their old base.
from keras.optimizers import *
