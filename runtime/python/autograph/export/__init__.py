"""Staged functions in formats of torch that run without this package."""

from ..api.function import Function
from .torchscript.module import TorchScript, write

__all__ = ["TorchScript", "torchscript"]


def torchscript(function, *args, **kwargs):
    """The graph that a call with these arguments runs, as TorchScript. `function` is a staged or a plain function."""
    staged = function if hasattr(function, "trace") else Function(function)
    return write(staged.trace(*args, **kwargs))
