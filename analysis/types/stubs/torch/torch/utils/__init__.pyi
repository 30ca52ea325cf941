# torch.utils of PyTorch 2.11.
from typing import Any

from torch.utils import checkpoint as checkpoint, data as data, tensorboard as tensorboard

def __getattr__(name: str) -> Any: ...
