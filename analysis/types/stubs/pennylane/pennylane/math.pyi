# pennylane.math 0.45.
from typing import Any

def __getattr__(name: str) -> Any: ...
