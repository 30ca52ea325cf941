"""Attributes that users have set on tensors: `p.steps = 0`.

Those of tensors from outside are state, as attributes of other objects are (`capture/watchers.py`). The tensors of arguments
are replaced by others while tracing, so their attributes cannot be staged."""

from ..capture.watchers import PLAIN_TENSORS
from ..errors import NeedsPython


def check_argument(tensor, span):
    """Ends the trace if an argument has attributes that users have set."""
    if type(tensor) in PLAIN_TENSORS and not all(name.startswith("_") for name in tensor.__dict__):
        message = "an argument is a tensor with attributes of the user"
        raise NeedsPython(f"{message}\nhelp: pass the values of the attributes as arguments", span)
