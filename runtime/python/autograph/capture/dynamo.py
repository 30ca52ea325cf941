"""Torch's shape functions, without the import of `torch._dynamo`.

The import takes a second. Torch's shape functions need it for two reasons only: a setting about profiles of operators,
and a wrapper that prevents `torch.compile` from tracing some functions. Nothing can be traced, and no setting can have
been changed, before the program has imported the module.
"""

import functools
import importlib
import sys
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace

import torch
from torch._C import DispatchKey

_NAME = "torch._dynamo"

#: The code of the wrapper of `torch._disable_dynamo`, which torch puts around some functions.
_WRAPPER = torch._disable_dynamo(lambda: None).__code__


class _Absent(ModuleType):
    """Represents the module `torch._dynamo` before its import. Other attributes than `config` import it."""

    config = SimpleNamespace(_custom_ops_profile=None)

    def __getattr__(self, name):
        return getattr(importlib.import_module(_NAME), name)


@contextmanager
def absent(func):
    """In this block, torch can compute the results of the operator `func` on fake tensors without `torch._dynamo`."""
    if _NAME in sys.modules:
        yield
        return
    _prepare(func)
    if "_dynamo" in torch.__dict__:  # in a block of this kind
        yield
        return
    placeholder = torch._dynamo = _Absent(_NAME)
    try:
        yield
    finally:
        if torch.__dict__.get("_dynamo") is placeholder:
            del torch._dynamo


@functools.cache
def _prepare(func):
    """Replaces the wrappers of torch around the shape function of an operator that is written in Python."""
    function = func.py_kernels.get(DispatchKey.Meta)
    while function is not None:
        inner = getattr(function, "__wrapped__", None)
        if getattr(function, "__code__", None) is _WRAPPER and not hasattr(inner, "__dynamo_disable"):
            inner.__dynamo_disable = _disabled(inner)
        function = inner


def _disabled(function):
    """Returns what torch's wrapper calls instead of a function. After the import of `torch._dynamo`, the wrapper calls what
    torch itself would have made it call."""

    def run(*args, **kwargs):
        if _NAME not in sys.modules:
            return function(*args, **kwargs)
        function.__dynamo_disable = torch._dynamo.disable(function, True, wrapping=False)
        return function.__dynamo_disable(*args, **kwargs)

    return run
