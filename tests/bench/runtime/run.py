"""Benchmarks programs from papers, eager and staged, optionally compared with other frameworks.

    runtime/build && PYTHONPATH=runtime/python target/torch/bin/python tests/bench/runtime/run.py [W1 W2 ...]
    ... run.py --peers PEERS --tensorflow PYTHON --jax PYTHON [W1 W2 ...]

PEERS is a folder with the same programs in torch, TensorFlow and JAX. Each framework runs in its own interpreter; torch
runs in this one. The sizes and data come from PEERS, so that the checksums can be compared.
"""

import argparse
import importlib
import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from workloads import chosen

TOLERANCE = 1e-5

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("workloads", nargs="*", help="W1, W2, ... (default: all)")
parser.add_argument("--rounds", type=int, default=5, help="minimum number of calls per variant")
parser.add_argument("--budget", type=float, default=4.0, help="seconds per workload and process; with --peers, per variant")
parser.add_argument("--processes", type=int, default=1, help="number of processes per workload; memory layout varies between processes")
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--peers", type=Path, help="folder with the programs in other frameworks")
parser.add_argument("--tensorflow", type=Path, help="Python interpreter with TensorFlow")
parser.add_argument("--jax", type=Path, help="Python interpreter with JAX")
parser.add_argument("--limit", type=float, default=600, help="timeout in seconds per framework and workload")
parser.add_argument("--keep", type=Path, help="append the results to this file as JSON lines")
options = parser.parse_args()

here = Path(__file__).parent
stems = chosen(options.workloads)


def figures(stem, configuration):
    """Measures a workload. Runs in a separate process."""
    if options.threads == 1 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    os.environ["OMP_NUM_THREADS"] = str(options.threads)

    import torch  # after OMP_NUM_THREADS is set
    from harness import measure

    torch.set_num_threads(options.threads)
    workload = importlib.import_module(stem).workload(**configuration)
    return measure(workload, options.rounds, options.budget)


def compare_with_eager():
    """Prints a table. Returns whether all results agree and no program is slower."""
    passed = True
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
                passed = False
                continue
            total = sum(others, first)
            passed &= total.difference <= TOLERANCE and total.ratio >= 1
            print(
                f"| {name} | {min(total.eager):.3f} | {min(total.staged):.3f} | {total.ratio:.2f} | {total.bound:.2f} | "
                f"{len(total.eager)} | {total.staging:.0f} | {total.difference:.1e} |",
                flush=True,
            )
    return passed


def compare_with_frameworks():
    """Prints a table. Returns whether all results agree."""
    from peers import HEAD, lines, measure

    pythons = {"torch": Path(sys.executable), "tf": options.tensorflow, "jax": options.jax}
    passed = True
    print(HEAD)
    for stem in (stem for stem in stems if (options.peers / f"{stem}.py").exists()):
        rows = measure(stem, {name: python for name, python in pythons.items() if python}, options)
        table, agrees = lines(rows, TOLERANCE)
        passed &= agrees
        print(*table, sep="\n", flush=True)
    return passed


if __name__ == "__main__":
    sys.exit(not (compare_with_frameworks() if options.peers else compare_with_eager()))
