"""The papers' programs, as they stand and staged, alone or beside other frameworks.

    runtime/build && PYTHONPATH=runtime/python target/torch/bin/python tests/bench/runtime/run.py [W1 W2 ...]
    ... run.py --peers PEERS --tensorflow PYTHON --jax PYTHON [W1 W2 ...]

PEERS is the folder of the same programs in torch, TensorFlow and JAX; each framework has its own interpreter, torch
this one. The sizes and data are the peers', so that the checksums of all agree.
"""

import argparse
import importlib
import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

TOLERANCE = 1e-5

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("workloads", nargs="*", help="W1, W2, ...; all of them by default")
parser.add_argument("--rounds", type=int, default=5, help="calls of each variant, at least")
parser.add_argument("--budget", type=float, default=4.0, help="seconds of calls of a workload in a process; of each variant with --peers")
parser.add_argument("--processes", type=int, default=1, help="a process has its own layout of memory: take several")
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--peers", type=Path, help="the folder of the other frameworks' programs")
parser.add_argument("--tensorflow", type=Path, help="a Python that has TensorFlow")
parser.add_argument("--jax", type=Path, help="a Python that has JAX")
parser.add_argument("--limit", type=float, default=600, help="seconds for all that a framework does of one workload")
parser.add_argument("--keep", type=Path, help="append what was measured to this file, as lines of JSON")
options = parser.parse_args()

here = Path(__file__).parent
stems = sorted((path.stem for path in here.glob("w*_*.py")), key=lambda stem: int(stem[1:].partition("_")[0]))
wanted = {name.upper() for name in options.workloads}
stems = [stem for stem in stems if not wanted or stem.partition("_")[0].upper() in wanted]


def figures(stem, configuration):
    """In a process of its own."""
    if options.threads == 1 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    os.environ["OMP_NUM_THREADS"] = str(options.threads)

    import torch  # after the number of threads
    from harness import measure

    torch.set_num_threads(options.threads)
    workload = importlib.import_module(stem).workload(**configuration)
    return measure(workload, options.rounds, options.budget)


def alone():
    """Prints one table of all; tells whether every result held, and nothing is slower."""
    held = True
    print("| workload | eager, ms | staged, ms | times faster | at least | pairs | staging, ms | difference |")
    print("|---|---|---|---|---|---|---|---|")
    spawn = multiprocessing.get_context("spawn")
    for stem in stems:
        for configuration in importlib.import_module(stem).CONFIGURATIONS:
            name = " ".join([stem.partition("_")[0].upper(), *(f"{k}={v}" for k, v in configuration.items())])
            try:
                with ProcessPoolExecutor(1, mp_context=spawn, max_tasks_per_child=1) as fresh:
                    found = [fresh.submit(figures, stem, configuration) for _ in range(options.processes)]
                    first, *others = (one.result() for one in found)
            except Exception as error:
                print(f"| {name} | {type(error).__name__}: {str(error).splitlines()[0][:150]} |", flush=True)
                held = False
                continue
            total = sum(others, first)
            held &= total.difference <= TOLERANCE and total.ratio >= 1
            print(
                f"| {name} | {min(total.eager):.3f} | {min(total.staged):.3f} | {total.ratio:.2f} | {total.bound:.2f} | "
                f"{len(total.eager)} | {total.staging:.0f} | {total.difference:.1e} |",
                flush=True,
            )
    return held


def beside():
    """Prints one table of all; tells whether every result held."""
    from peers import HEAD, lines, measure

    pythons = {"torch": Path(sys.executable), "tf": options.tensorflow, "jax": options.jax}
    held = True
    print(HEAD)
    for stem in stems:
        rows = measure(stem, {name: python for name, python in pythons.items() if python}, options)
        made, agrees = lines(rows, TOLERANCE)
        held &= agrees
        print(*made, sep="\n", flush=True)
    return held


if __name__ == "__main__":
    sys.exit(not (beside() if options.peers else alone()))
