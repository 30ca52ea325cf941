# flax.training.checkpoints 0.12.
from typing import Any

def __getattr__(name: str) -> Any: ...
