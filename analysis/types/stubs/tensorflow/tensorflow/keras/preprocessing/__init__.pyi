# tf.keras.preprocessing.
from keras.preprocessing import *
