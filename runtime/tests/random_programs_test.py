"""Random programs have the same results, exceptions and Python state staged and eager.

The environment variables `PROGRAMS` and `FIRST` set the number of programs and the first seed. A failure names its seed.
"""

import contextlib
import copy
import importlib.util
import os
import random

import pytest
import torch

import autograph as ag
import programs
from oracle import assert_equal

COUNT, FIRST, CHUNK = int(os.environ.get("PROGRAMS", "1000")), int(os.environ.get("FIRST", "0")), 50


@contextlib.contextmanager
def kernels(seed):
    """Uses libtorch's kernels for even seeds, because they round as eager torch does. Odd seeds run natively in float64,
    whose rounding is far below the tolerances."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64 if seed % 2 else torch.float32)
    ag.use_deterministic_kernels(seed % 2 == 0)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
        ag.use_deterministic_kernels(False)


@pytest.mark.parametrize("compare", ["compare", "compare_gradients"])
@pytest.mark.parametrize("first", range(FIRST, FIRST + COUNT, CHUNK))
def test_programs(first, compare, tmp_path):
    seeds = range(first, min(first + CHUNK, FIRST + COUNT))
    module = load(tmp_path / f"programs_{first}.py", programs.module_text(seeds))
    check(seeds, programs.Program, lambda seed: globals()[compare](getattr(module, f"program_{seed}"), seed))


@pytest.mark.parametrize("first", range(FIRST, FIRST + COUNT, CHUNK))
def test_programs_with_state(first, tmp_path):
    """Programs that change Python state have the same results as in eager Python, or are rejected at one of their lines.
    A rejected call changes no state."""
    seeds = range(first, min(first + CHUNK, FIRST + COUNT))
    path = tmp_path / f"state_{first}.py"
    module = load(path, programs.module_text(seeds, programs.StateProgram))
    check_or_refused(seeds, programs.StateProgram, module, lambda name, seed: compare_state(module, name, seed))


def check(seeds, kind, compare):
    """Calls `compare` with each seed. Fails with the texts of the programs for which it raises an exception."""
    failures = []
    for seed in seeds:
        try:
            with kernels(seed):
                compare(seed)
        except Exception as error:
            failures.append(f"seed {seed}: {type(error).__name__}: {error}\n{kind(seed).text(f'program_{seed}')}")
    assert not failures, f"{len(failures)} of {len(seeds)} differ\n\n" + "\n".join(failures[:3])


def check_or_refused(seeds, kind, module, compare):
    """Calls `compare` with each program. A program may be refused at one of its lines; then `compare` returns the
    message."""
    refused = []

    def compare_one(seed):
        message = compare(f"program_{seed}", seed)
        if message is not None:
            refused.append(f"seed {seed}: {message}")
            assert f'File "{module.__file__}", line' in message, message

    check(seeds, kind, compare_one)
    print("\n".join(refused))
    assert len(refused) <= 0.6 * len(seeds), refused


def compare_state(module, name, seed, sizes=(3, 0, 3), between=lambda number: None, call=None):
    """Compares calls, and the state after each. `between` changes the state after each call. Returns the message if a call is
    refused."""
    call = call or run
    torch.manual_seed(seed)
    calls = [(torch.randn(3), torch.randn(2, 3), torch.tensor(n)) for n in sizes]
    function = getattr(module, name)
    staged, expected = ag.function(function), []
    module.reset()
    for number, args in enumerate(calls):
        expected.append((call(function, args), copy.deepcopy(module.state()), random.random()))
        between(number)
    module.reset()
    for number, (args, outcome) in enumerate(zip(calls, expected)):
        before = copy.deepcopy(module.state())
        try:
            found = call(staged, args)
        except ag.StagingError as error:
            assert_equal(module.state(), before)
            return str(error)
        assert_equal(found, outcome[0])
        if found[0] == "raised":  # the changes that remain of a failed call depend on whether it has run as a graph
            return None
        assert_equal((module.state(), random.random()), outcome[1:])
        between(number)
    return None


def load(path, text):
    """Imports the text of a program as a module."""
    path.write_text(text)
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def compare(function, seed):
    """Compares the results of two calls."""
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
    """Calls a function with copies of the arguments. Returns the result and the arguments after the call, or the class
    of the exception."""
    args = copy.deepcopy(args)
    try:
        return "returned", function(*args), args
    except (UnboundLocalError, NameError, IndexError, ZeroDivisionError, RuntimeError) as error:
        return "raised", NameError if isinstance(error, NameError) else type(error)
