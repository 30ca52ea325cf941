"""Measures how long the first call of a program takes, which traces it: CPU milliseconds in fresh processes.

    PYTHONPATH=runtime/python target/torch/bin/python tests/bench/runtime/staging.py [W1 W2 ...]
    ... staging.py --before OTHER/runtime/python [W1 W2 ...]

Torch is imported before the measurement. `import` is `import autograph`, and `first call` is the first call after it.
The results are compared with those of eager Python. With `--before`, processes with another copy of the package
alternate with those of this one.
"""

import argparse
import importlib
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

from workloads import PACKAGE, chosen, environment, short


def figures(stem):
    """Measures one program in this process. Prints a line of JSON."""
    import torch

    torch.set_num_threads(1)
    start = time.process_time()
    import autograph as ag

    imported = time.process_time()
    from harness import MAX_DIFFERENCE, difference

    module = importlib.import_module(stem)
    workload = module.workload(**module.CONFIGURATIONS[0])
    program = ag.function(workload.program)
    ag.use_product_kernels("torch")  # otherwise, a first run on a machine measures the kernels of matrix products
    before = time.process_time()
    first = program(*workload.arguments)
    called = time.process_time()
    program(*workload.arguments)
    again = time.process_time()
    eager = workload.program(*workload.arguments)
    assert difference(first, eager) <= MAX_DIFFERENCE, f"{stem}: the results differ"
    times = imported - start, called - before, (called - before) - (again - called)
    print(json.dumps([1e3 * each for each in times] + ["torch._dynamo" in sys.modules]))


def measured(stem, package):
    """Returns the figures of a fresh process."""
    command = [sys.executable, __file__, "--program", stem]
    done = subprocess.run(command, env=environment(package), capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{stem} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def row(stem, packages, processes):
    """Measures a program with each package. Returns a row of the table."""
    found = {package: [] for package in packages}
    for _ in range(processes):
        for package in packages:
            found[package].append(measured(stem, package))
    cells = []
    for runs in found.values():
        imports, first, staging, _ = zip(*runs)
        cells += [statistics.median(imports), statistics.median(first), statistics.median(staging)]
    return "| " + " | ".join([short(stem), *(f"{cell:.0f}" for cell in cells)]) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", help="W1, W2, ... (default: all)")
    parser.add_argument("--before", type=Path, help="the folder of another copy of the package `autograph`")
    parser.add_argument("--processes", type=int, default=5, help="number of processes per program")
    parser.add_argument("--program", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.program:
        figures(options.program)
        return
    packages = [*([options.before.resolve()] if options.before else []), PACKAGE]
    heads = [f"{what}{when}" for when in [" before", ""][-len(packages) :] for what in ("import", "first call", "staging")]
    print("| program | " + " | ".join(heads) + " |\n|---|" + "---|" * len(heads))
    for stem in chosen(options.workloads):
        print(row(stem, packages, options.processes), flush=True)


main()
