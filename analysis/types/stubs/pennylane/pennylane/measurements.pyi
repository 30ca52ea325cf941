# pennylane.measurements 0.45.
from typing import Any

from jax import Array

class MeasurementValue(Array): ...

class MeasurementProcess:
    obs: Any
    wires: Any

def __getattr__(name: str) -> Any: ...
