"""The ways of a value: small programs in which a value reaches its use.

`VALUE(x)` computes a Tensor from a Tensor, and `USE(v)` is an operation that needs the value of a Tensor. `program.py`
replaces them by operations of a framework.
"""
from .arguments import ARGUMENTS
from .containers import CONTAINERS
from .functions import FUNCTIONS
from .objects import OBJECTS
from .variables import VARIABLES

KINDS = {"variables": VARIABLES, "containers": CONTAINERS, "arguments": ARGUMENTS, "functions": FUNCTIONS,
         "objects": OBJECTS}
WAYS = {name: text for ways in KINDS.values() for name, text in ways.items()}
