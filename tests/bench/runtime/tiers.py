"""Compares the runtime's own kernels with libtorch's: each program runs with both, in alternating calls of one process.

    PYTHONPATH=runtime/python target/torch/bin/python tests/bench/runtime/tiers.py [WORKLOAD...]

For the first configuration of each program, prints the minimum CPU milliseconds of each variant, the median ratio of
adjacent calls, and the difference of the results. The runtime's own kernels are the native tier and the
measured kernels for matrix products.
"""

import importlib
import statistics
import sys
from pathlib import Path

import autograph as ag
import torch
from harness import MAX_DIFFERENCE, alternate


def measure(name):
    """Measures a program with and without the native tier, in alternating calls."""
    module = importlib.import_module(name)
    workload = module.workload(**module.CONFIGURATIONS[0])
    staged = ag.function(workload.program)

    def run(deterministic):
        ag.use_deterministic_kernels(deterministic)
        return staged(*workload.arguments)

    pairs, largest_difference = alternate(lambda: run(False), lambda: run(True))
    assert largest_difference < MAX_DIFFERENCE, name
    ratio = statistics.median(libtorch / own for own, libtorch in pairs)
    own, libtorch = (min(times) for times in zip(*pairs))
    sizes = " ".join(f"{key}={value}" for key, value in module.CONFIGURATIONS[0].items())
    print(f"| {name} {sizes} | {own:.2f} | {libtorch:.2f} | {ratio:.2f} | {largest_difference:.1e} |", flush=True)


def main():
    torch.set_num_threads(1)
    print("| program | own kernels, ms | libtorch, ms | times faster | difference |\n|---|---|---|---|---|")
    names = sorted(path.stem for path in Path(__file__).parent.glob("w*_*.py"))
    for name in sys.argv[1:] or names:
        measure(name)


main()
