"""Random programs have the same results and exceptions staged as eagerly.

`PROGRAMS=100 FIRST=0` in the environment sets the number of programs and the first seed. A failure names its seed.
"""

import copy
import importlib.util
import os

import pytest
import torch

import autograph as ag
import programs
from oracle import assert_equal

COUNT, FIRST, CHUNK = int(os.environ.get("PROGRAMS", "5000")), int(os.environ.get("FIRST", "0")), 50


@pytest.mark.parametrize("compare", ["compare", "compare_gradients"])
@pytest.mark.parametrize("first", range(FIRST, FIRST + COUNT, CHUNK))
def test_programs(first, compare, tmp_path):
    seeds = range(first, min(first + CHUNK, FIRST + COUNT))
    path = tmp_path / f"programs_{first}.py"
    path.write_text(programs.module_text(seeds))
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    failures = []
    for seed in seeds:
        try:
            globals()[compare](getattr(module, f"program_{seed}"), seed)
        except Exception as error:
            text = programs.Program(seed).text(f"program_{seed}")
            failures.append(f"seed {seed}: {type(error).__name__}: {error}\n{text}")
    assert not failures, f"{len(failures)} of {len(seeds)} differ\n\n" + "\n".join(failures[:3])


def compare(function, seed):
    staged = ag.function(function)
    torch.manual_seed(seed)
    for iterations in (3, 0):
        args = torch.randn(3), torch.randn(2, 3), torch.tensor(iterations)
        expected, found = run(function, args), run(staged, args)
        assert_equal(found, expected)


def compare_gradients(function, seed):
    def total(a, m, n):
        a, b, s, *_, rows = function(a * 1, m * 1, n)
        return a.sum() + b.sum() + s.sum() + (rows * rows).sum()

    torch.manual_seed(seed)
    args = torch.randn(3, requires_grad=True), torch.randn(2, 3, requires_grad=True), torch.tensor(3)
    try:
        expected = gradients(total, args)
    except RuntimeError:  # an in-place write that torch's autograd does not allow
        return
    assert_equal(gradients(ag.function(total), args), expected)


def gradients(function, args):
    try:
        return "returned", *torch.autograd.grad(function(*args), args[:2], materialize_grads=True)
    except (UnboundLocalError, NameError, IndexError, ZeroDivisionError) as error:
        return "raised", NameError if isinstance(error, NameError) else type(error)


def run(function, args):
    args = copy.deepcopy(args)
    try:
        return "returned", function(*args), args
    except (UnboundLocalError, NameError, IndexError, ZeroDivisionError, RuntimeError) as error:
        return "raised", NameError if isinstance(error, NameError) else type(error)
