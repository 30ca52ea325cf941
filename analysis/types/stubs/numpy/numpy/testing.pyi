# numpy.testing of NumPy 2.4.
from typing import Any

def __getattr__(name: str) -> Any: ...
