"""Compares the runtime's own kernels with libtorch's: each program runs with both, in alternating calls of one process.

    PYTHONPATH=runtime/python target/torch/bin/python tests/bench/runtime/tiers.py [WORKLOAD...]

For the first configuration of each program, prints the minimum CPU milliseconds of each variant, the median ratio of
adjacent calls, and the difference of the results. The runtime's own kernels are the native tier and the
measured kernels for matrix products.
"""

import importlib
import statistics
import sys
import time
from pathlib import Path

import autograph as ag
import torch
from harness import difference

SECONDS, MIN_PAIRS, MAX_PAIRS = 12, 4, 30
#: The maximum difference of results. Gradient descent amplifies rounding errors, most in W6 with its line search.
MAX_DIFFERENCE = 1e-2


def clock(staged, arguments, deterministic):
    ag.use_deterministic_kernels(deterministic)
    start = time.process_time()
    result = staged(*arguments)
    return (time.process_time() - start) * 1e3, result


def measure(name):
    """Measures a program with and without the native tier, in alternating calls."""
    module = importlib.import_module(name)
    workload = module.workload(**module.CONFIGURATIONS[0])
    staged = ag.function(workload.program)
    modes, pairs, largest_difference, end = [False, True], [], 0.0, None
    while end is None or len(pairs) < MIN_PAIRS or time.time() < end and len(pairs) < MAX_PAIRS:
        pair = {mode: clock(staged, workload.arguments, mode) for mode in modes}
        (own, found), (libtorch, expected) = pair[False], pair[True]
        largest_difference = max(largest_difference, difference(found, expected))
        if end is None:
            # The first calls trace, measure products and warm up.
            end = time.time() + SECONDS
        else:
            pairs.append((own, libtorch))
        # After the comparison, the caches are cold in the next call.
        modes.reverse()
    assert largest_difference < MAX_DIFFERENCE, name
    ratio = statistics.median(libtorch / own for own, libtorch in pairs)
    own, libtorch = (min(times) for times in zip(*pairs))
    sizes = " ".join(f"{key}={value}" for key, value in module.CONFIGURATIONS[0].items())
    print(f"| {name} {sizes} | {own:.2f} | {libtorch:.2f} | {ratio:.2f} | {largest_difference:.1e} |", flush=True)


def main():
    torch.set_num_threads(1)
    print("| program | own kernels, ms | libtorch, ms | times faster | difference |\n|---|---|---|---|---|")
    names = sorted(path.stem for path in Path(__file__).parent.glob("w*.py"))
    for name in sys.argv[1:] or names:
        measure(name)


main()
