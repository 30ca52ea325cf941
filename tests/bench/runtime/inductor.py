"""Compares staged functions with and without `compile="inductor"`: each program runs with both, in alternating calls.

    PYTHONPATH=runtime/python target/torch/bin/python tests/bench/runtime/inductor.py [WORKLOAD...]

For the first configuration of each program, prints the regions that Inductor compiles, how long the first call takes, the
minimum CPU milliseconds of each variant, the median ratio of adjacent calls, and the difference of the results.
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


def clock(staged, arguments):
    torch.manual_seed(0)
    start = time.process_time()
    result = staged(*arguments)
    return (time.process_time() - start) * 1e3, result


def measure(name):
    """Measures a program with and without Inductor, in alternating calls."""
    module = importlib.import_module(name)
    workload = module.workload(**module.CONFIGURATIONS[0])
    plain, compiled = ag.function(workload.program), ag.function(workload.program, compile="inductor")
    start = time.time()
    compiled(*workload.arguments)
    first = time.time() - start
    for function in (compiled, plain, plain):  # the second call may be traced again, for numbers that have changed
        function(*workload.arguments)
    order, pairs, largest_difference, end = [plain, compiled], [], 0.0, time.time() + SECONDS
    while len(pairs) < MIN_PAIRS or time.time() < end and len(pairs) < MAX_PAIRS:
        pair = {function: clock(function, workload.arguments) for function in order}
        (without, expected), (with_, found) = pair[plain], pair[compiled]
        largest_difference = max(largest_difference, difference(found, expected))
        pairs.append((without, with_))
        order.reverse()
    assert largest_difference < MAX_DIFFERENCE, name
    assert not any(region.refusals for region in compiled.regions), name
    ratio = statistics.median(without / with_ for without, with_ in pairs)
    without, with_ = (min(times) for times in zip(*pairs))
    sizes = " ".join(f"{key}={value}" for key, value in module.CONFIGURATIONS[0].items())
    run = sum(region.variants > 0 for region in compiled.regions)
    cells = f"{run} | {first:.1f} | {without:.2f} | {with_:.2f} | {ratio:.2f} | {largest_difference:.1e}"
    print(f"| {name} {sizes} | {cells} |", flush=True)


def main():
    torch.set_num_threads(1)
    print("| program | regions | first call, s | without, ms | with, ms | times faster | difference |\n|---|---|---|---|---|---|---|")
    names = sorted(path.stem for path in Path(__file__).parent.glob("w*.py"))
    for name in sys.argv[1:] or names:
        measure(name)


main()
