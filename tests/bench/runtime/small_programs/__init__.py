"""Small functions as users write them, for `small.py`: with a few dozen elements, and with state.

Each function returns a program and `call(program, number)`, which calls the eager or the staged program once and returns the
tensors to compare. State is created with the function, so that both variants have their own."""

from . import state, training  # noqa: F401 - they add their programs
from .registry import PROGRAMS

__all__ = ["PROGRAMS"]
