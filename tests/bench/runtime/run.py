"""The papers' programs, as they stand and staged.

    runtime/build && PYTHONPATH=runtime/python target/torch/bin/python tests/bench/runtime/run.py [W1 W2 ...]
"""

import argparse
import importlib
import os
import sys
from pathlib import Path

TOLERANCE = 1e-5

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("workloads", nargs="*", help="W1, W2, ...; all of them by default")
parser.add_argument("--rounds", type=int, default=5)
parser.add_argument("--budget", type=float, default=2.0, help="seconds of each variant")
parser.add_argument("--threads", type=int, default=1)
options = parser.parse_args()

if options.threads == 1 and hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
os.environ["OMP_NUM_THREADS"] = str(options.threads)

import torch  # noqa: E402  (after the number of threads)

from harness import measure  # noqa: E402

torch.set_num_threads(options.threads)
here = Path(__file__).parent
modules = sorted(here.glob("w*_*.py"), key=lambda path: int(path.stem[1:].partition("_")[0]))
wanted = {name.upper() for name in options.workloads}
failed = False
print("| workload | eager, ms | staged, ms | times faster | staging, ms | difference |")
print("|---|---|---|---|---|---|")
for path in modules:
    if wanted and path.stem.partition("_")[0].upper() not in wanted:
        continue
    torch.manual_seed(0)
    for workload in importlib.import_module(path.stem).workloads():
        try:
            figures = measure(workload, options.rounds, options.budget)
        except Exception as error:
            print(f"| {workload.name} | {type(error).__name__}: {str(error).splitlines()[0][:150]} |", flush=True)
            failed = True
            continue
        failed |= figures.difference > TOLERANCE
        print(
            f"| {figures.name} | {figures.eager:.3f} | {figures.staged:.3f} | {figures.ratio:.2f} | "
            f"{figures.staging:.0f} | {figures.difference:.1e} |",
            flush=True,
        )
sys.exit(failed)
