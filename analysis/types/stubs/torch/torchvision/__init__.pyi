# torchvision 0.26: a transform returns a Tensor where that is certain; a model is a module.
from typing import Any

from torchvision import datasets as datasets, io as io, models as models, ops as ops, transforms as transforms, utils as utils

def __getattr__(name: str) -> Any: ...
