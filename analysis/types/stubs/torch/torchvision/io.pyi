# torchvision.io 0.26.
from typing import Any

def __getattr__(name: str) -> Any: ...
