# tf_keras.metrics of Keras 2 (tf_keras 2.21).
from typing import Any

from keras.metrics import *
from keras.metrics import Metric as _Metric

class Metric(_Metric): ...

def __getattr__(name: str) -> Any: ...
