"""Calls that Python runs, with a warning, because only Python can run their code: NumPy arrays of tensors, hooks of tensors
from outside, changes of Python objects below conditions that cannot be decided."""

import itertools

import numpy as np
import pytest
import torch
from oracle import assert_same, assert_same_state, t

import autograph as ag

CALLS = t(1.0, -2.0, 3.0), t(0.5, 0.5, 4.0), t(-3.0, 1.0, 1.0)


def _split(x):
    n = int(x.abs().sum().item()) % 2 + 1
    return [part * n for part in x.split(n)]


def _metrics(x):
    order = np.argsort(x.numpy())[::-1]
    return x[order.copy()], np.cumsum(np.asarray(x)).tolist()


def _late_hook(x):
    y = x.clone().requires_grad_()
    z = y * 2
    total = z.sum()
    z.register_hook(lambda gradient: gradient * 3)
    (total + (z * z).sum()).backward()
    return y.grad


def _removed_hook(x):
    y = x.clone().requires_grad_() * 1
    handle = y.register_hook(lambda gradient: gradient * 5)
    handle.remove()
    return torch.autograd.grad(y.sum(), y)


@pytest.mark.filterwarnings("ignore:a call of")
@pytest.mark.parametrize("function", [_split, _metrics, _late_hook, _removed_hook])
def test_python_runs_a_call(function):
    assert_same(function, *((x,) for x in CALLS))


def _optimizer_with_hooks():
    weight = torch.ones(3, requires_grad=True)
    seen = []

    def step(x):
        handle = weight.register_hook(lambda gradient: seen.append(gradient.sum().item()))
        (weight * x).sum().backward()
        handle.remove()
        with torch.no_grad():
            weight.sub_(0.1 * weight.grad)
        weight.grad = None
        return weight.sum().item()

    return step, lambda: weight.detach().clone(), seen.copy


def _set_in_a_loop():
    seen = set()

    def step(x):
        for k, value in enumerate(x.tolist()):
            if value > 0:
                seen.add(k)
        return x * len(seen)

    return step, lambda: sorted(seen)


@pytest.mark.filterwarnings("ignore:a call of")
@pytest.mark.parametrize("make", [_optimizer_with_hooks, _set_in_a_loop])
def test_python_runs_a_call_that_changes_state(make):
    assert_same_state(make, CALLS)


def test_the_warning_has_the_line_and_the_graph_is_refused():
    def f(x):
        return float(x.numpy().sum())  # the line

    staged = ag.function(f)
    with pytest.warns(ag.FallbackWarning, match=r"(?s)runs in Python.*`numpy\(\)` needs the data.*# the line"):
        assert staged(t(1, 2)) == 3
    with pytest.raises(ag.StagingError, match="needs the data"):
        staged.graph(t(1, 2))
    assert not staged.traces


def test_a_condition_before_it_is_decided():
    """Python runs only the calls that take the path."""

    def f(x):
        if x.sum() > 5:
            return torch.from_numpy(x.numpy().copy())
        return x * 2

    staged = ag.function(f)
    with pytest.warns(ag.FallbackWarning):
        for x in (t(1, 2), t(4, 5), t(1, 1), t(7, 7)):
            assert torch.equal(staged(x), f(x))
    assert len(staged.traces) == 1


def _numbered_calls():
    clock = itertools.count(3)

    def step(x):
        return x * next(clock) + next(clock)

    return step


@pytest.mark.filterwarnings("ignore:a call of")
def test_python_runs_a_call_that_advances_a_counter_from_outside():
    assert_same_state(_numbered_calls, CALLS)


def test_python_does_not_repeat_a_call_that_has_advanced_an_iterator_for_good():
    letters = enumerate("abcdefgh")

    @ag.function
    def step(x):
        return next(letters), x.numpy().sum()

    with pytest.raises(ag.StagingError):
        step(t(1, 2))
