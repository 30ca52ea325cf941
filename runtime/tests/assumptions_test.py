"""Assumptions of traces, which each run checks: a call that contradicts an assumption runs in Python."""

import logging
import random
import warnings

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


def _printed_first(x):
    print("sum", x.sum())
    found = _masked_sum(x)
    print("found", found)
    return found


def _printed_in_loop(x):
    n = torch.zeros((), dtype=torch.int64)
    while n < 3:
        print("round", n)
        x = x - 0.3 * _masked_sum(x)
        n = n + 1
    print("end", end="!\n")
    return x


def _printed_below_condition(x):
    if x.sum() > 3:
        print("large")
        x = x * _masked_sum(x)
    print("end")
    return x


def _nested_mask(x):
    if x.sum() > 100:
        print("huge")
        return None
    mask = _mask(x)
    print("mask", mask is None)
    return mask


def _nested(x):
    print("start")
    mask = _nested_mask(x)
    return x if mask is None else x * mask


def _logged_first(x):
    logging.getLogger(__name__).warning("sum %s", x.sum().item())
    found = _masked_sum(x)
    logging.getLogger(__name__).warning("found %s", float(found))
    return found


def _of_python_condition(x):
    for flag in (False, True, False):
        print("flag", flag)
        mask = None if flag else _mask(x)
        x = x + 1 if mask is None else x * mask
    return x


def _random_first(x):
    print("random", torch.rand(1).item(), random.random())
    noise = torch.rand(3)
    return _masked_sum(x + 0 * noise) + torch.rand(()) + random.random()


_AFTER_OUTPUT = [
    _printed_first, _printed_in_loop, _printed_below_condition, _nested, _logged_first, _of_python_condition, _random_first
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:a call of")
@pytest.mark.parametrize("function", _AFTER_OUTPUT)
@pytest.mark.parametrize("first", [0, 1, 2])
def test_output_is_not_repeated_if_a_call_runs_in_python(function, first, capsys, caplog):
    def outcomes(called):
        random.seed(0)
        torch.manual_seed(0)
        caplog.clear()
        found = [called(x) for x in calls]
        return found, capsys.readouterr().out, [r.getMessage() for r in caplog.records if r.name == __name__]

    calls = [t(1, 2, 3), t(1, -2, 3), t(100, 2, 3)]
    calls = calls[first:] + calls[:first] + calls
    found, expected = outcomes(ag.function(function)), outcomes(function)
    torch.testing.assert_close(found[0], expected[0])
    assert found[1:] == expected[1:]


@pytest.mark.parametrize("x", [t(1, 2, 3), t(1, -2, 3)])
def test_the_first_call_decides_after_output(x, capsys, recwarn):
    staged = ag.function(_printed_first)
    assert staged(x) == _masked_sum(x) and capsys.readouterr().out.count("sum") == 1
    assert not [w for w in recwarn if issubclass(w.category, ag.FallbackWarning)]


@pytest.mark.filterwarnings("ignore:a call of")
def test_output_of_an_inner_staged_function_is_not_repeated(capsys):
    inner = ag.function(_printed_first)

    @ag.function
    def f(x):
        print("outer")
        return inner(x) + _masked_sum(x)

    for x in (t(1, 2, 3), t(1, -2, 3)):
        assert f(x) == 2 * _masked_sum(x)
    out = capsys.readouterr().out
    assert [out.count(text) for text in ("outer", "sum", "found")] == [2, 2, 2]


def test_gradients_if_a_call_runs_in_python_after_output(capsys):
    results = []
    for function in (ag.function(_printed_first), _printed_first):
        for x in (t(1, 2, 3), t(1, -2, 3)):
            leaf = x.clone().requires_grad_()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ag.FallbackWarning)
                function(leaf).backward()
            results.append(leaf.grad)
    torch.testing.assert_close(results[:2], results[2:])


def test_a_call_of_python_is_not_repeated(path):
    def note():
        with path.open("a") as file:
            file.write("called\n")

    @ag.function
    def f(x):
        ag.py_function(note, [], [])
        return _masked_sum(x)

    f(t(1, -2, 3))
    with pytest.raises(ag.StagingError, match="`_mask` returns a value.*contradicts the assumption after side effects") as found:
        f(t(1, 2, 3))
    assert found.value.span[0] == __file__ and path.read_text().count("called") == 2


def test_a_condition_that_cannot_be_staged_is_decided_after_output(capsys):
    def f(x):
        print("sum", x.sum())
        kinds = {True: "positive", False: "negative"}
        return x * len(kinds[bool(x.sum() > 0)])

    staged = ag.function(f)
    for x in (t(1), t(2)):
        torch.testing.assert_close(staged(x), f(x))
    assert capsys.readouterr().out.count("sum") == 4


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


def test_a_size_that_the_call_contradicts_is_assumed_anew():
    """`bool(...)` in a key needs a Python value, so tracing runs the graph recorded so far. This run contradicts the
    assumption that `numel` is small."""

    def f(x):
        found = x[x > 0]
        scale = 2 if found.numel() > 4000 else 3
        names = {True: 1, False: -1}
        return found.sum() * scale * names[bool(found.sum() > 5)]

    staged = ag.function(f)
    for x in (torch.ones(5000), torch.ones(5000) * 2, torch.ones(5000) * -1):
        torch.testing.assert_close(staged(x), f(x))
    assert len(staged.traces) == 1


def test_split_into_parts_of_unknown_sizes():
    def f(x):
        found = x[x > 0]
        first, rest = found.split([1, len(found) - 1])
        return first, rest[:2], rest.sum()

    staged = ag.function(f)
    for x in (t(1, 2, -3), t(1, 2, 3)):
        torch.testing.assert_close(staged(x), f(x))


def test_functions_with_script_if_tracing_are_converted():
    @torch.jit.script_if_tracing
    def halved(x):
        while x > 1:
            x = x / 2
        return x

    def f(x):
        return halved(x)

    torch.testing.assert_close(ag.function(f)(torch.tensor(100.0)), f(torch.tensor(100.0)))


def test_a_subclass_of_tensor_is_an_error_at_its_line():
    class Tagged(torch.Tensor):
        pass

    def f(x):
        return (x * 2).as_subclass(Tagged)

    with pytest.raises(ag.StagingError, match="a tensor of the class `Tagged`") as found:
        ag.function(f)(t(1, 2))
    assert found.value.span[0] == __file__
    torch.testing.assert_close(ag.function(lambda x: (x * 2).as_subclass(torch.Tensor))(t(1, 2)), t(2, 4))


def test_writes_through_reshapes_of_unknown_sizes():
    def f(x):
        found = x[x > 0] * 1
        found.unsqueeze(0).unsqueeze(0).squeeze(0)[:, 1:] *= 2
        found.unsqueeze(1).view(-1)[0] = 7
        return found

    staged = ag.function(f)
    for x in (t(1, 2, -3), t(1, 2, 3)):
        torch.testing.assert_close(staged(x), f(x))


def test_a_false_assertion_below_a_staged_condition():
    def plain(x):
        if (x < 0).any():
            torch._assert(False, "negative")
        return x * 2

    def with_values(x):
        if (x < 0).any():
            torch._assert(False, f"negative {x[0].tolist()} of {len(x)}")
        return x * 2

    for f in (plain, with_values):
        staged = ag.function(f)
        torch.testing.assert_close(staged(t(1, 2)), t(2, 4))
        with pytest.raises(AssertionError) as expected:
            f(t(-1, 2))
        with pytest.raises(AssertionError) as found:
            staged(t(-1, 2))
        assert str(found.value) == str(expected.value)
