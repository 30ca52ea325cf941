# torch.fx of PyTorch 2.11.
from typing import Any

def __getattr__(name: str) -> Any: ...
