"""Random programs that share containers and tensors have the same results, exceptions and state staged and eager, or are refused
at a line.

The number of programs is a fifth of the environment variable `PROGRAMS`; `FIRST` is the first seed. A failure names its
seed.
"""

import os
import warnings

import pytest

import shared_programs
from random_objects_test import run
from random_programs_test import check_or_refused, compare_state, load

COUNT, FIRST, CHUNK = int(os.environ.get("PROGRAMS", "1000")) // 5, int(os.environ.get("FIRST", "0")), 50


@pytest.mark.parametrize("first", range(FIRST, FIRST + COUNT, CHUNK))
def test_programs_with_shared_containers(first, tmp_path):
    seeds = range(first, min(first + CHUNK, FIRST + COUNT))
    module = load(tmp_path / f"shared_{first}.py", shared_programs.module_text(seeds))

    def compare(name, seed):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return compare_state(module, name, seed, (3, 0, 3, 2), call=run)

    check_or_refused(seeds, shared_programs.SharedProgram, module, compare)
