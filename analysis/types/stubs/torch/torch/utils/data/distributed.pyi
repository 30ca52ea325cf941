# torch.utils.data.distributed of PyTorch 2.11.
from typing import Any

from torch.utils.data import Sampler

class DistributedSampler(Sampler[int]):
    def set_epoch(self, epoch: Any) -> None: ...
