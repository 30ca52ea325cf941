"""Random programs with `speculate=True` agree with eager Python while calls contradict their assumptions one by one.

The environment variables `PROGRAMS` and `FIRST` set the number of programs and the first seed. A failure names its seed.
Each program is called more than twenty times and traced several times, so it takes as long as twenty programs of the other
tests. The number of programs is divided by 20 accordingly.
"""

import contextlib
import copy
import io
import os
import random

import numpy as np
import pytest
import torch

import autograph as ag
import programs
from oracle import assert_equal
from random_programs_test import load, run

FIRST, CHUNK = int(os.environ.get("FIRST", "0")), 4
COUNT = max(CHUNK, int(os.environ.get("PROGRAMS", "320")) // 20)

pytestmark = pytest.mark.filterwarnings("ignore::autograph.FallbackWarning", "ignore:`program_.*:UserWarning")


@pytest.fixture(autouse=True)
def deterministic_kernels():
    """Runs graphs with libtorch's kernels, because printed numbers are compared digit by digit."""
    ag.use_deterministic_kernels(True)
    yield
    ag.use_deterministic_kernels(False)


@pytest.mark.parametrize("first", range(FIRST, FIRST + COUNT, CHUNK))
def test_assumptions_broken_one_by_one(first, tmp_path):
    seeds = range(first, min(first + CHUNK, FIRST + COUNT))
    module = load(tmp_path / f"speculative_{first}.py", programs.module_text(seeds, programs.SpeculativeProgram))
    failures, calls, reruns, refused = [], 0, 0, 0
    for seed in seeds:
        program = programs.SpeculativeProgram(seed)
        text = program.text(f"program_{seed}")
        try:
            counts = compare(module, getattr(module, f"program_{seed}"), program)
            calls, reruns, refused = calls + counts[0], reruns + counts[1], refused + counts[2]
        except Exception as error:
            failures.append(f"seed {seed}: {type(error).__name__}: {error}\n{text}")
    print(f"seeds {seeds}: {calls} calls, {reruns} contradicted an assumption, {refused} programs were refused")
    assert not failures, f"{len(failures)} of {len(seeds)} differ\n\n" + "\n".join(failures[:3])
    assert refused < len(seeds)


def arguments(program, seed):
    """Returns the arguments of the usual call, and those of calls that differ from it in one argument each."""
    torch.manual_seed(seed)
    usual = dict(a=torch.randn(3), m=torch.randn(2, 3), n=torch.tensor(2), f=torch.randn(40), t=torch.randint(1, 4, (40,)), q=1.5)
    changed = []
    for place in range(program.conditions):
        changed.append({"f": usual["f"].index_fill(0, torch.tensor([place]), -float(usual["f"][place]))})
    for place in range(program.counts):
        changed.append({"t": usual["t"].index_fill(0, torch.tensor([place]), int(usual["t"][place]) - 1)})
    changed += [{"a": -usual["a"]}, {"n": torch.tensor(3)}, {"q": 0.5}, {"q": 2}, {"m": torch.randn(4, 3)}]
    changed += [{"a": usual["a"].double()}, {"a": usual["a"] * 3, "m": usual["m"] * 0}]
    program.random.shuffle(changed)
    return usual, [{**usual, **change} for change in changed]


def compare(module, function, program):
    """Compares all effects of all calls. Returns the number of calls, the number of calls that contradicted an
    assumption, and whether the program was refused."""
    seed = program.random.randint(0, 1 << 20)
    usual, changed = arguments(program, seed)
    calls = [usual] * 4
    for other in changed:
        calls += [other, usual]
    staged = ag.function(function, speculate=True, fallback="eager" if seed % 2 else None)
    reset(module, seed)
    expected = [effects(module, function, call) for call in calls]
    reset(module, seed)
    for index, (call, outcome) in enumerate(zip(calls, expected)):
        before = copy.deepcopy(module.state())
        try:
            found = effects(module, staged, call)
        except ag.StagingError as error:
            assert 'line' in str(error)
            assert_equal(module.state(), before)
            return index, reruns(staged), 1
        try:
            assert_equal(found[0], outcome[0])
            if found[0][0] == "raised":  # a run that fails leaves the state unchanged
                return index, reruns(staged), 0
            assert_equal(found, outcome)
        except AssertionError as error:
            raise AssertionError(f"call {index}: {error}") from None
    return len(calls), reruns(staged), 0


def reruns(staged):
    """Returns the number of calls that contradicted an assumption. Asserts that each assumption that can be relaxed was
    contradicted at most once."""
    assert all(entry.failures <= (1 if entry.state == "relaxed" else 3) for entry in staged.speculation), staged.speculation
    return sum(entry.failures for entry in staged.speculation)


def reset(module, seed):
    module.reset()
    torch.manual_seed(seed)


def effects(module, function, call):
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        outcome = run(function, tuple(call.values()))
    numbers = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state()
    return outcome, copy.deepcopy(module.state()), numbers, printed.getvalue()


@pytest.mark.parametrize("first", range(FIRST, FIRST + COUNT, CHUNK))
def test_gradients_while_assumptions_are_broken(first, tmp_path):
    seeds = range(first, min(first + CHUNK, FIRST + COUNT))
    module = load(tmp_path / f"speculative_{first}.py", programs.module_text(seeds, programs.SpeculativeProgram))
    failures = []
    for seed in seeds:
        program = programs.SpeculativeProgram(seed)
        text = program.text(f"program_{seed}")
        try:
            compare_gradients(module, getattr(module, f"program_{seed}"), program)
        except Exception as error:
            failures.append(f"seed {seed}: {type(error).__name__}: {error}\n{text}")
    assert not failures, f"{len(failures)} of {len(seeds)} differ\n\n" + "\n".join(failures[:3])


def compare_gradients(module, function, program):
    """Compares gradients that are computed inside of the staged function for some programs, and outside of it for others."""
    seed = program.random.randint(0, 1 << 20)
    usual, changed = arguments(program, seed)
    calls = [usual] * 4 + [call for other in changed[::3] for call in (other, usual)]

    def inside(a, m, *rest):
        return torch.autograd.grad(total(function, a, m, *rest), (a, m), allow_unused=True)

    eager = inside if seed % 2 else function
    staged = ag.function(eager, speculate=True, fallback="eager")
    for index, call in enumerate(calls):
        try:
            expected = gradients(module, eager, call, seed)
        except (UnboundLocalError, NameError, IndexError, ZeroDivisionError, RuntimeError):
            return
        for one, other in zip(gradients(module, staged, call, seed), expected):
            if other is None or one is None:
                assert (one is None or not one.any()) and (other is None or not other.any()), f"call {index}"
            else:
                assert_equal(one, other)


def total(function, *args):
    x, y, z, *_, rows = function(*args)[:19]
    return x.sum() + y.sum() + z.sum()


def gradients(module, function, call, seed):
    """Returns the gradients of a call: for odd seeds those that the function returns, for even seeds those of leaves. The
    arguments are copies of the leaves, because programs change `m` in place, which torch refuses for a leaf."""
    reset(module, seed)
    leaves = [call[name].clone().requires_grad_() for name in "am"]
    args = *(leaf * 1 for leaf in leaves), *list(call.values())[2:]
    with contextlib.redirect_stdout(io.StringIO()):
        if seed % 2:
            return [None if g is None else g.detach() for g in function(*args)]
        return torch.autograd.grad(total(function, *args), leaves, allow_unused=True)
