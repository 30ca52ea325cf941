"""Random programs over objects have the same results, exceptions, output and state staged and eager, or are refused at a line.

The number of programs is a fifth of the environment variable `PROGRAMS`; `FIRST` is the first seed. A failure names its
seed.
"""

import contextlib
import copy
import io
import os
import re
import warnings

import pytest

import autograph as ag
import object_programs
from random_programs_test import check_or_refused, compare_state, load

COUNT, FIRST, CHUNK = int(os.environ.get("PROGRAMS", "1000")) // 5, int(os.environ.get("FIRST", "0")), 50

#: Exceptions that programs raise.
RAISED = (NameError, IndexError, KeyError, ValueError, AttributeError, ZeroDivisionError, RuntimeError)


@pytest.mark.parametrize("first", range(FIRST, FIRST + COUNT, CHUNK))
def test_programs_with_objects(first, tmp_path):
    seeds = range(first, min(first + CHUNK, FIRST + COUNT))
    module = load(tmp_path / f"objects_{first}.py", object_programs.module_text(seeds))

    def compare(name, seed):
        between = getattr(module, f"between_{name}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return compare_state(module, name, seed, (3, 0, 3, 2), between, run)

    check_or_refused(seeds, object_programs.ObjectProgram, module, compare)


def run(function, args):
    """Calls a function with copies of the arguments. Returns the result, the arguments after the call and the printed text, or
    the class of the exception."""
    args, output = copy.deepcopy(args), io.StringIO()
    try:
        with contextlib.redirect_stdout(output):
            result = function(*args)
    except RAISED as error:
        if isinstance(error, ag.AutographError):
            raise
        return "raised", NameError if isinstance(error, NameError) else type(error)
    return "returned", result, args, re.sub(r"\d+\.\d+", "#", output.getvalue())
