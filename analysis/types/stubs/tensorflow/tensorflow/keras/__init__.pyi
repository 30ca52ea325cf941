# tf.keras of TensorFlow 2.21, which is Keras 3.
from typing import Any

from keras import (
    Function as Function,
    Initializer as Initializer,
    Input as Input,
    InputSpec as InputSpec,
    KerasTensor as KerasTensor,
    Layer as Layer,
    Loss as Loss,
    Metric as Metric,
    Model as Model,
    Optimizer as Optimizer,
    Regularizer as Regularizer,
    Sequential as Sequential,
    Variable as Variable,
    __version__ as __version__,
    device as device,
    name_scope as name_scope,
    version as version,
)
from tensorflow.keras import (
    activations as activations,
    applications as applications,
    backend as backend,
    callbacks as callbacks,
    config as config,
    constraints as constraints,
    datasets as datasets,
    initializers as initializers,
    layers as layers,
    losses as losses,
    metrics as metrics,
    mixed_precision as mixed_precision,
    models as models,
    ops as ops,
    optimizers as optimizers,
    preprocessing as preprocessing,
    random as random,
    regularizers as regularizers,
    saving as saving,
    utils as utils,
)

def __getattr__(name: str) -> Any: ...
