# pennylane.numpy 0.45: NumPy with a mark for what is trained.
from numpy import *
from typing import Any

def __getattr__(name: str) -> Any: ...
