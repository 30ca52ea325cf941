# torchvision 0.26: a transform gives a Tensor where it is certain to, a model is a module.
from typing import Any

from torchvision import datasets as datasets, io as io, models as models, ops as ops, transforms as transforms, utils as utils

def __getattr__(name: str) -> Any: ...
