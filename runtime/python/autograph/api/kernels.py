"""Which kernels staged functions run: those of libtorch, or native ones for small tensors."""

import os

from .. import _runtime

#: Names in the environment variable `AUTOGRAPH_NATIVE`. `always` is for tests: single operators run natively too.
_TIERS = {"0": "torch", "1": "native", "always": "always"}


def use_deterministic_kernels(mode=True):
    """Runs every operator of staged functions with the kernels of libtorch, so that results equal those of eager torch to
    the last bit.

    Otherwise loops and operators on small tensors run natively, which is many times faster. Their results differ from
    those of libtorch by rounding: products and sums add in another order, and functions such as `tanh` are rounded
    correctly in more cases. The setting concerns all functions, those that are traced already included.
    """
    _runtime.set_tier("torch" if mode else "native")


def deterministic_kernels_used():
    """Whether every operator is that of libtorch."""
    return _runtime.tier() == "torch"


def _from_environment():
    name = os.environ.get("AUTOGRAPH_NATIVE", "1")
    if name not in _TIERS:
        raise ValueError(f"AUTOGRAPH_NATIVE is {name!r}; it must be {', '.join(_TIERS)}")
    _runtime.set_tier(_TIERS[name])


_from_environment()
