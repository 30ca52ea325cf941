"""Measures the native tier: each program with it and with libtorch's kernels only, in alternating calls of one process.

    PYTHONPATH=runtime/python target/torch/bin/python tests/bench/runtime/tiers.py [WORKLOAD...]

Prints CPU milliseconds, the minimum of each tier, and the median ratio of adjacent calls for the first configuration of
each program.
"""

import importlib
import statistics
import sys
import time
from pathlib import Path

import autograph as ag
import torch
from harness import difference

SECONDS, FEWEST, MOST = 12, 3, 30
#: Gradient descent amplifies rounding: W6 and its line search most.
MOST_DIFFERENCE = 1e-2


def clock(staged, arguments, deterministic):
    ag.use_deterministic_kernels(deterministic)
    start = time.process_time()
    result = staged(*arguments)
    return (time.process_time() - start) * 1e3, result


def measure(name):
    module = importlib.import_module(name)
    workload = module.workload(**module.CONFIGURATIONS[0])
    staged = ag.function(workload.program)
    staged(*workload.arguments)
    pairs, end = [], time.time() + SECONDS
    while len(pairs) < FEWEST or time.time() < end and len(pairs) < MOST:
        (native, found), (libtorch, expected) = (clock(staged, workload.arguments, mode) for mode in (False, True))
        assert difference(found, expected) < MOST_DIFFERENCE, name
        pairs.append((native, libtorch))
    ratio = statistics.median(libtorch / native for native, libtorch in pairs)
    native, libtorch = (min(times) for times in zip(*pairs))
    print(f"| {name} | {native:.2f} | {libtorch:.2f} | {ratio:.2f} | {len(pairs)} |", flush=True)


def main():
    torch.set_num_threads(1)
    print("| program | native, ms | libtorch, ms | times faster | pairs |\n|---|---|---|---|---|")
    names = sorted(path.stem for path in Path(__file__).parent.glob("w*.py"))
    for name in sys.argv[1:] or names:
        measure(name)


main()
