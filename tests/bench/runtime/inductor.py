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
from harness import MAX_DIFFERENCE, alternate


def measure(name):
    """Measures a program with and without Inductor, in alternating calls."""
    module = importlib.import_module(name)
    workload = module.workload(**module.CONFIGURATIONS[0])
    plain, compiled = ag.function(workload.program), ag.function(workload.program, compile="inductor")
    start = time.time()
    compiled(*workload.arguments)
    first = time.time() - start
    compiled(*workload.arguments)  # this call may trace again, because numbers have changed
    plain(*workload.arguments)
    pairs, largest_difference = alternate(lambda: plain(*workload.arguments), lambda: compiled(*workload.arguments))
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
    names = sorted(path.stem for path in Path(__file__).parent.glob("w*_*.py"))
    for name in sys.argv[1:] or names:
        measure(name)


main()
