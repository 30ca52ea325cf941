# malt.impl of diastatic-malt 2.15.
from typing import Any

def __getattr__(name: str) -> Any: ...
