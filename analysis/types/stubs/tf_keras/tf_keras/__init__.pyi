# Keras 2 (tf_keras 2.21), the top-level namespace.
from typing import Any

from keras import Input as Input
from tf_keras import (
    activations as activations,
    applications as applications,
    backend as backend,
    callbacks as callbacks,
    constraints as constraints,
    datasets as datasets,
    initializers as initializers,
    layers as layers,
    losses as losses,
    metrics as metrics,
    mixed_precision as mixed_precision,
    models as models,
    optimizers as optimizers,
    preprocessing as preprocessing,
    regularizers as regularizers,
    saving as saving,
    utils as utils,
)
from tf_keras.models import Model as Model, Sequential as Sequential

__version__: str

def __getattr__(name: str) -> Any: ...
