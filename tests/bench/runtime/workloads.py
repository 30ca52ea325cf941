"""The programs from papers (`w1_rnn.py`, ...), for scripts that start processes. It does not import torch."""

import os
from pathlib import Path

HERE = Path(__file__).parent
#: The folder of this copy of the package `autograph`.
PACKAGE = HERE.parents[2] / "runtime" / "python"


def chosen(names):
    """Returns the names of the modules for `W1`, `W2`, ...; of all programs if there are no names."""
    wanted = {name.upper() for name in names}
    stems = sorted((path.stem for path in HERE.glob("w*_*.py")), key=lambda stem: int(stem[1:].partition("_")[0]))
    return [stem for stem in stems if not wanted or short(stem) in wanted]


def short(stem):
    """Returns `W1` for `w1_rnn`."""
    return stem.partition("_")[0].upper()


def environment(package):
    """Returns the environment of a process that uses a copy of the package on one thread."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(package), str(HERE)]), "OMP_NUM_THREADS": "1"}
