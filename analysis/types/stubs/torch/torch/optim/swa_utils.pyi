# torch.optim.swa_utils of PyTorch 2.11.
from typing import Any

from torch.nn import Module
from torch.optim.lr_scheduler import LRScheduler

class AveragedModel(Module):
    module: Any
    def update_parameters(self, model: Any) -> None: ...

class SWALR(LRScheduler): ...

def __getattr__(name: str) -> Any: ...
