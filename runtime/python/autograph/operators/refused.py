"""Functions of libraries that a graph cannot call, because it could not repeat their results or effects in each run."""

import builtins
import datetime
import functools
import os
import secrets
import uuid

import torch

from ..capture.staging import current
from ..conversion import spans
from ..errors import StagingError
from .overloads import OVERLOADS

#: The reason -> the functions.
_REFUSED = {
    "has a different result in each call, which a graph cannot repeat; pass the result as an argument, or call it in"
    " `ag.py_function`": (
        datetime.datetime.now, datetime.datetime.utcnow, datetime.datetime.today, datetime.date.today, uuid.uuid1,
        uuid.uuid4, os.urandom, secrets.token_bytes, secrets.token_hex, secrets.token_urlsafe, secrets.randbelow,
        secrets.randbits, secrets.choice, builtins.input,
    ),
    "changes a setting of torch, which a graph cannot do\nhelp: call it outside of the staged function": (
        torch.set_default_dtype, torch.set_default_device, torch.set_default_tensor_type,
        torch.use_deterministic_algorithms, torch.set_deterministic_debug_mode, torch.set_float32_matmul_precision,
    ),
    "writes a file, which the graph would not repeat\nhelp: call it outside of the staged function, or in a function that"
    " is called with `ag.py_function`": (torch.save,),
}  # fmt: skip


def _call(function, reason, *args, **keywords):
    if current() is None:
        return function(*args, **keywords)
    raise StagingError(f"`{function.__qualname__}` {reason}", spans.current())


OVERLOADS.update({f: functools.partial(_call, f, reason) for reason, functions in _REFUSED.items() for f in functions})
