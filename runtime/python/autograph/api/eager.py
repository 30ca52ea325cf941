"""A switch that runs staged functions as ordinary Python, for debugging and comparison."""

import os
from contextlib import contextmanager

from .._runtime import begin_eager_block, end_eager_block, runs_eagerly, set_eager

set_eager(os.environ.get("AUTOGRAPH_EAGER", "") not in ("", "0"))


def run_functions_eagerly(eagerly=True):
    """Runs functions with `@ag.function` or `@ag.convert` as ordinary Python, unconverted and without a graph, so that
    breakpoints and `print` work as usual. `AUTOGRAPH_EAGER=1` in the environment has the same effect."""
    set_eager(bool(eagerly))


def functions_run_eagerly():
    """Returns whether staged functions run as ordinary Python."""
    return runs_eagerly()


@contextmanager
def eagerly():
    """Runs staged functions as ordinary Python in a block of this thread."""
    begin_eager_block()
    try:
        yield
    finally:
        end_eager_block()
