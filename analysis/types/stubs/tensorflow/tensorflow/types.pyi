# tf.types of TensorFlow 2.21.
from typing import Any

experimental: Any
