"""Selects the kernels of staged functions: libtorch's, native ones, or oneDNN's for products. Selects whether Python may
run calls for which it is faster."""

import os

import torch

from .. import _runtime

#: Names in the environment variable `AUTOGRAPH_NATIVE`. `always` is for tests: single operators run natively too.
_TIERS = {"0": "torch", "1": "native", "always": "always"}


def use_deterministic_kernels(mode=True):
    """Runs every operator of staged functions with the kernels of libtorch, so that results equal those of eager torch to
    the last bit.

    Otherwise loops and operators run natively if the shapes are known, which is many times faster, and products of matrices run
    with the kernel that is fastest on this processor. Their results differ from those of libtorch by rounding: products
    and sums are accumulated in another order, and functions of `float32` such as `tanh` are at most two units in the last
    place from the exact result. The setting applies to all functions, including those that are already traced.
    """
    _runtime.set_tier("torch" if mode else "native")


def deterministic_kernels_used():
    """Returns whether only libtorch's kernels run."""
    return _runtime.tier() == "torch"


def use_product_kernels(name):
    """Sets the kernels for products of matrices of `float32` on the CPU. The setting applies to all functions.

    `"measured"`, the default: the kernel that is fastest for the shapes on this processor. The kernels are measured when
    a kind of product is first needed, which takes about 20 ms, and the result is kept in the user's cache folder.
    `"torch"`: libtorch's kernel. `"onednn"`: oneDNN's kernel for all products of more than about 100,000
    multiplications. With `"torch"` and `"onednn"`, results do not depend on measurements.
    """
    _runtime.set_product_kernels(name)


def compare_with_python(mode=True):
    """Lets Python run calls of a staged function for which it is faster than a graph. This is the default.

    The time of some calls is measured, in both ways. Their results differ by rounding, so with `False`, results do not
    depend on measurements: Python only runs calls that cannot run as graphs. The setting applies to all functions.
    """
    _runtime.set_comparison(mode)


def show_config():
    """Prints the kernels that staged functions run, who runs small calls, and the table of measured products."""
    kernels = {"torch": "libtorch", "native": "native where they are faster", "always": "native"}
    print(f"autograph {_runtime.__version__}, torch {torch.__version__}, {torch.get_num_threads()} threads")
    print(f"kernels: {kernels[_runtime.tier()]}")
    print(f"calls: {'graphs, or Python where it is faster' if _runtime.compares_with_python() else 'graphs'}")
    print(_runtime.products_description(), end="")


def _from_environment():
    name = os.environ.get("AUTOGRAPH_NATIVE", "1")
    if name not in _TIERS:
        raise ValueError(f"AUTOGRAPH_NATIVE is {name!r}; it must be {', '.join(_TIERS)}")
    _runtime.set_tier(_TIERS[name])
    _runtime.set_comparison(os.environ.get("AUTOGRAPH_COMPARE", "1") not in ("", "0"))
    _runtime.set_product_kernels(os.environ.get("AUTOGRAPH_PRODUCTS", "measured"))
    _runtime.set_loop_compilation(os.environ.get("AUTOGRAPH_COMPILED_LOOPS", "hot"))


_from_environment()
