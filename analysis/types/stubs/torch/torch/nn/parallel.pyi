# torch.nn.parallel of PyTorch 2.11.
from typing import Any

from torch.nn import DataParallel as DataParallel

class DistributedDataParallel(DataParallel[Any]):
    def no_sync(self) -> Any: ...

def __getattr__(name: str) -> Any: ...
