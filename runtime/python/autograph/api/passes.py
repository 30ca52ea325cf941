"""Switches passes off: the optimizer's passes on graphs, loop batching, and the passes on native programs and on plans.
"""

import os

from .. import _runtime


def passes():
    """Returns the names of all passes, in the order in which they run. `ag-lsp graph --passes` prints what they change."""
    optimizer, native = _runtime.passes()
    return (*optimizer, *native)


def disable_passes(*names):
    """Switches these passes off, and all others on, in functions that are traced from now on.

    Without arguments, all passes run. A pass does not change results, apart from rounding. The environment variable
    `AUTOGRAPH_DISABLE_PASSES` has the same effect: `AUTOGRAPH_DISABLE_PASSES=multiply-add,dead-code-elimination`.
    """
    _runtime.disable_passes(names)


disable_passes(*filter(None, os.environ.get("AUTOGRAPH_DISABLE_PASSES", "").replace(" ", "").split(",")))
