"""The switch that makes staged functions run as they are written, for a debugger and for comparison."""

import os

_on = os.environ.get("AUTOGRAPH_EAGER", "") not in ("", "0")


def run_functions_eagerly(eagerly=True):
    """From now on, what `function` and `convert` have made runs unconverted and without a graph: break points stop,
    every line prints. `AUTOGRAPH_EAGER=1` in the environment does so from the start."""
    global _on
    _on = bool(eagerly)


def functions_run_eagerly():
    """Whether they do."""
    return _on
