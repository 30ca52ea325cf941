# keras.preprocessing of Keras 3.15.
from keras.preprocessing import image as image, sequence as sequence, text as text
from keras.utils import (
    image_dataset_from_directory as image_dataset_from_directory,
    text_dataset_from_directory as text_dataset_from_directory,
    timeseries_dataset_from_array as timeseries_dataset_from_array,
)
