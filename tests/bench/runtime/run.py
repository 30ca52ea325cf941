"""The papers' programs, as they stand and staged, alone or beside other frameworks.

    runtime/build && PYTHONPATH=runtime/python target/torch/bin/python tests/bench/runtime/run.py [W1 W2 ...]
    ... run.py --peers PEERS --tensorflow PYTHON --jax PYTHON [W1 W2 ...]

PEERS is the folder of the same programs in torch, TensorFlow and JAX; each framework has its own interpreter, torch
this one. The sizes and data are the peers', so that the checksums of all agree.
"""

import argparse
import importlib
import os
import sys
from pathlib import Path

TOLERANCE = 1e-5

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("workloads", nargs="*", help="W1, W2, ...; all of them by default")
parser.add_argument("--rounds", type=int, default=5)
parser.add_argument("--budget", type=float, default=2.0, help="seconds of each variant")
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


def alone():
    """Prints one table of all; tells whether every result held."""
    if options.threads == 1 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    os.environ["OMP_NUM_THREADS"] = str(options.threads)

    import torch  # after the number of threads
    from harness import measure

    torch.set_num_threads(options.threads)
    held = True
    print("| workload | eager, ms | staged, ms | times faster | staging, ms | difference |")
    print("|---|---|---|---|---|---|")
    for stem in stems:
        module = importlib.import_module(stem)
        for configuration in module.CONFIGURATIONS:
            name = " ".join([stem.partition("_")[0].upper(), *(f"{k}={v}" for k, v in configuration.items())])
            try:
                figures = measure(module.workload(**configuration), options.rounds, options.budget)
            except Exception as error:
                print(f"| {name} | {type(error).__name__}: {str(error).splitlines()[0][:150]} |", flush=True)
                held = False
                continue
            held &= figures.difference <= TOLERANCE
            print(
                f"| {name} | {figures.eager:.3f} | {figures.staged:.3f} | {figures.ratio:.2f} | "
                f"{figures.staging:.0f} | {figures.difference:.1e} |",
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


sys.exit(not (beside() if options.peers else alone()))
