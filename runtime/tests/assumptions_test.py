"""Assumptions of traces, which each run checks: a call that contradicts an assumption runs in Python."""

import pytest
import torch
from oracle import t

import autograph as ag


def _mask(x):
    if (x > 0).all():
        return None
    return x > 0


def _masked_sum(x):
    mask = _mask(x)
    return x.sum() if mask is None else x[mask].sum() * 2


@pytest.mark.parametrize("first", [t(1, 2, 3), t(1, -2, 3)])
def test_the_first_call_decides_whether_a_function_returns_none(first):
    staged = ag.function(_masked_sum)
    assert staged(first) == _masked_sum(first)
    assert len(staged.traces) == 1


@pytest.mark.filterwarnings("ignore:a call of")
@pytest.mark.parametrize("calls", [(t(1, 2, 3), t(1, -2, 3)), (t(1, -2, 3), t(1, 2, 3))])
def test_a_call_that_contradicts_an_assumption_runs_in_python(calls):
    staged = ag.function(_masked_sum)
    for x in (*calls, *calls):
        assert staged(x) == _masked_sum(x)


def test_a_call_that_runs_in_python_is_reported_once():
    staged = ag.function(_masked_sum)
    staged(t(1, 2, 3))
    with pytest.warns(UserWarning, match="`_mask` returns None") as found:
        staged(t(1, -2, 3))
        staged(t(1, -2, 3))
    assert len(found) == 1


@pytest.mark.filterwarnings("ignore:a call of")
def test_state_changes_once_if_a_call_runs_in_python():
    total = torch.zeros(())
    calls = []

    @ag.function
    def f(x):
        total.add_(x.sum())
        result = _masked_sum(x)
        calls.append(1)
        return result

    for x in (t(1, 2, 3), t(1, -2, 3)):
        f(x)
    assert total == 8 and len(calls) == 2


@pytest.mark.filterwarnings("ignore:a call of")
def test_random_numbers_are_drawn_once_if_a_call_runs_in_python():
    def f(x):
        return torch.rand(2) + _masked_sum(x + 0 * torch.rand(3))

    results = []
    for function in (ag.function(f), f):
        torch.manual_seed(0)
        results.append([function(x) for x in (t(1, 2, 3), t(1, -2, 3), t(1, 2, 3))])
    torch.testing.assert_close(*results)


def test_a_run_with_output_is_not_repeated(capsys):
    @ag.function
    def f(x):
        print("sum", x.sum())
        return _masked_sum(x)

    f(t(1, -2, 3))
    with pytest.raises(AssertionError, match="tracing has assumed"):
        f(t(1, 2, 3))
    assert capsys.readouterr().out.count("sum") == 2


def test_staged_tensors_are_not_fake_for_libraries():
    from torch._subclasses.fake_tensor import FakeTensor

    @ag.function
    def f(x):
        return x + 1 if isinstance(x, FakeTensor) else x + 2

    assert f(torch.zeros(())) == 2


def test_a_python_boolean_stays_constant_in_a_loop():
    @ag.function
    def f(x):
        is_warm = finished = False
        found = x
        while not finished:
            if is_warm:
                found = torch.cat([found, found[-1:] * 2])
            is_warm = True
            finished = found.sum() > 50
        return found

    assert torch.equal(f(t(1, 1)), f.python_function(t(1, 1)))


def test_a_function_that_calls_locals_is_converted_unless_a_trace_reaches_the_call():
    def f(x, names):
        if names:
            return x + len(locals())
        if x.sum() > 0:
            return x * 2
        return x

    staged = ag.function(f)
    assert staged(t(1), False) == 2 and staged(t(-1), False) == -1
    assert staged(t(1), True) == 3


@pytest.mark.parametrize("kind", [torch.optim.RAdam, torch.optim.ASGD, torch.optim.Adafactor])
def test_steps_of_optimizers_with_conditions_on_tensors(kind):
    def train(stage):
        torch.manual_seed(0)
        model = torch.nn.Linear(3, 2)
        optimizer = kind(model.parameters())
        x = torch.randn(4, 3)

        @stage
        def steps(count):
            while count > 0:
                optimizer.zero_grad()
                model(x).pow(2).mean().backward()
                optimizer.step()
                count = count - 1

        steps(torch.tensor(8))
        steps(torch.tensor(3))
        return [p.detach().clone() for p in model.parameters()]

    torch.testing.assert_close(train(ag.function), train(lambda f: f))
