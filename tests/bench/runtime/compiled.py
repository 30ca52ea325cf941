"""Measures programs as shared libraries without libtorch (`ag.compile`), beside the staged functions.

    PYTHONPATH=runtime/python target/torch/bin/python tests/bench/runtime/compiled.py [WORKLOAD...]

Prints for the first configuration of each program: the size of the library, the minimum CPU milliseconds of a call of
the library and of a staged call, the median ratio of adjacent calls, the difference of the results, and the wall
milliseconds from loading the library to the end of the first call. Calls of the library and of the staged function
alternate in one process. A program that needs libtorch is listed with the reason.
"""

import ctypes
import importlib
import statistics
import sys
import tempfile
import time
from pathlib import Path

import autograph as ag
import torch
from harness import MAX_DIFFERENCE, alternate
from torch.utils import _pytree as pytree


class Call:
    """A call of a compiled function on fixed arguments."""

    def __init__(self, path, arguments, results):
        self.path, self.results = path, results
        self._kept = arguments
        self._tables = [(ctypes.c_void_p * len(each))(*(t.data_ptr() for t in each)) for each in (arguments, results)]

    def load(self):
        self._run = getattr(ctypes.CDLL(str(self.path)), f"{self.path.stem}_run")

    def __call__(self):
        assert self._run(*self._tables) == 0
        return self.results


def tensors(tree):
    """Returns the tensors in a tree, and its numbers as tensors."""
    leaves = [leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, (torch.Tensor, int, float))]
    return [torch.as_tensor(leaf).detach().contiguous() for leaf in leaves]


def measure(name, folder):
    module = importlib.import_module(name)
    workload = module.workload(**module.CONFIGURATIONS[0])
    sizes = " ".join(f"{key}={value}" for key, value in module.CONFIGURATIONS[0].items())
    path = folder / f"{name}.so"
    staged = ag.function(workload.program)
    expected = tensors(staged(*workload.arguments))
    try:
        ag.compile(staged, workload.arguments, path)
    except ag.ExportError as error:
        print(f"| {name} {sizes} | {error.message.splitlines()[0]} | | | | | |", flush=True)
        return
    given = [leaf.contiguous() for leaf in pytree.tree_leaves(workload.arguments) if isinstance(leaf, torch.Tensor)]
    call = Call(path, given, [torch.empty_like(result) for result in expected])
    start = time.perf_counter()
    call.load()
    call()
    first = 1e3 * (time.perf_counter() - start)
    pairs, largest_difference = alternate(call, lambda: tensors(staged(*workload.arguments)))
    assert largest_difference < MAX_DIFFERENCE, name
    ratio = statistics.median(other / own for own, other in pairs)
    own, other = (min(times) for times in zip(*pairs))
    size = path.stat().st_size / 2**20
    print(
        f"| {name} {sizes} | {size:.1f} | {own:.2f} | {other:.2f} | {ratio:.2f} | {largest_difference:.1e} | {first:.1f} |",
        flush=True,
    )


def main():
    torch.set_num_threads(1)
    print("| program | MiB | library, ms | staged, ms | times faster | difference | first call, ms |\n|---|---|---|---|---|---|---|")
    names = sorted(path.stem for path in Path(__file__).parent.glob("w*_*.py"))
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[1:] or names:
            measure(name, Path(folder))


main()
