"""A switch that runs staged functions as ordinary Python, for debugging and comparison."""

import os
from contextlib import contextmanager

from .._runtime import set_eager

_on = os.environ.get("AUTOGRAPH_EAGER", "") not in ("", "0")
set_eager(_on)


def run_functions_eagerly(eagerly=True):
    """Runs functions with `@ag.function` or `@ag.convert` as ordinary Python, unconverted and without a graph, so that
    breakpoints and `print` work as usual. `AUTOGRAPH_EAGER=1` in the environment has the same effect."""
    global _on
    _on = bool(eagerly)
    set_eager(_on)


def functions_run_eagerly():
    """Returns whether staged functions run as ordinary Python."""
    return _on


@contextmanager
def eagerly():
    """Runs staged functions as ordinary Python in a block."""
    before = functions_run_eagerly()
    run_functions_eagerly()
    try:
        yield
    finally:
        run_functions_eagerly(before)
