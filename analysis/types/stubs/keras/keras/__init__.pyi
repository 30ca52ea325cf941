# Keras 3.15, the top-level namespace.
from typing import Any, TypeVar

from keras import (
    activations as activations,
    applications as applications,
    backend as backend,
    callbacks as callbacks,
    config as config,
    constraints as constraints,
    datasets as datasets,
    distribution as distribution,
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
    tree as tree,
    utils as utils,
)
from keras._layer import (
    InputSpec as InputSpec,
    KerasTensor as KerasTensor,
    Layer as Layer,
    Operation as Operation,
    Variable as Variable,
)
from keras._model import Model as Model, Sequential as Sequential
from keras.initializers import Initializer as Initializer
from keras.layers import Input as Input
from keras.losses import Loss as Loss
from keras.metrics import Metric as Metric
from keras.optimizers import Optimizer as Optimizer
from keras.regularizers import Regularizer as Regularizer

F = TypeVar("F")

__version__: str

Function = Model

def device(device_name: Any) -> Any: ...
def name_scope(name: Any, *args: Any, **kwargs: Any) -> Any: ...
def remat(f: F) -> F: ...
def version() -> str: ...
def __getattr__(name: str) -> Any: ...
