"""Python runs calls without a lookup if graphs have cost more time than they saved."""

import pytest
import torch

import autograph as ag
from autograph.api.benefit import FIRST_INTERVAL, FIRST_WINDOW, MOST_DOUBLINGS, PART, Benefit


def window(benefit, calls, lost=1.0, seconds=1.0):
    for _ in range(calls):
        assert not benefit.is_due()
        benefit.ran_in_python(lost, seconds)
    assert benefit.is_due()
    return benefit.decided(direct=0)


def test_skipped_calls_double():
    benefit = Benefit()
    assert window(benefit, FIRST_WINDOW) == 2
    assert [window(benefit, 1) for _ in range(4)] == [4, 8, 16, 32]


def test_slow_calls_are_not_skipped():
    benefit = Benefit()
    assert window(benefit, FIRST_WINDOW, lost=PART / FIRST_WINDOW / 2) == 0
    for _ in range(2 * MOST_DOUBLINGS):
        assert window(benefit, 1, lost=10 * PART) <= 10


def test_graphs_that_save_time():
    benefit = Benefit()
    benefit.ran_a_graph(100.0)  # nothing is known about the time of Python
    assert benefit.calls == 0
    benefit.ran_in_python(1.0, 5.0)
    for _ in range(FIRST_WINDOW - 1):
        benefit.ran_a_graph(1.0)
    assert benefit.is_due() and benefit.decided(direct=0) == 0
    benefit.ran_in_python(1.0, 5.0)
    for _ in range(FIRST_WINDOW - 1):
        benefit.ran_a_graph(6.0)
    assert benefit.is_due() and benefit.decided(direct=0) == 2


def test_direct_calls_count_as_saved_time():
    benefit = Benefit()
    for _ in range(FIRST_WINDOW):
        benefit.ran_in_python(1.0, 1.0)
    assert benefit.decided(direct=FIRST_WINDOW) == 0


def graphs(benefit, windows, seconds):
    """Records calls that ran graphs, and returns the numbers of skipped calls."""
    found = []
    for _ in range(windows):
        while not benefit.is_due():
            benefit.ran_a_graph(seconds)
        found.append(benefit.decided(direct=0))
    return found


def test_the_time_of_python_is_measured_again():
    benefit = Benefit()
    benefit.ran_in_python(0.0, 10.0)
    assert graphs(benefit, FIRST_INTERVAL, 5.0) == [0] * (FIRST_INTERVAL - 1) + [2]
    benefit.skipped(2, 2 * 10.0)
    assert graphs(benefit, 2 * FIRST_INTERVAL, 5.0) == [0] * (2 * FIRST_INTERVAL - 1) + [2]
    benefit.skipped(30, 30 * 3.0)
    assert graphs(benefit, 3, 5.0) == [2, 4, 8]


def test_the_time_of_python_is_not_measured_again_if_graphs_are_much_faster():
    benefit = Benefit()
    benefit.ran_in_python(0.0, 10.0)
    assert not any(graphs(benefit, 8 * FIRST_INTERVAL, 1.0))


def in_python():
    """Returns a function that Python runs, and the list of its calls of `_call`."""
    looked_up = []

    class Counted(ag.Function):
        def _call(self, *args, **kwargs):
            looked_up.append(args)
            return super()._call(*args, **kwargs)

    state = {"calls": 0, "sum": 0.0}

    def f(x):
        state["calls"] += 1
        state["sum"] += float(x.numpy().sum())
        return x * state["calls"]

    return Counted(f), looked_up, state


def test_calls_without_a_lookup():
    f, looked_up, state = in_python()
    x = torch.tensor([1.0, 2.0])
    for k in range(500):
        assert f(x).tolist() == [k + 1, 2 * (k + 1)]
    assert state == {"calls": 500, "sum": 1500.0}
    assert len(looked_up) < 100
    assert sum(f.fallbacks.values()) == 500, "skipped calls are counted"


def test_exceptions_of_skipped_calls():
    f, _, state = in_python()
    x = torch.tensor([1.0, 2.0])
    for _ in range(100):
        f(x)
    f.skip_lookups(3)
    for _ in range(2):
        with pytest.raises(AttributeError):
            f(1)
    assert not ag.functions_run_eagerly()
    assert f(x).tolist() == [103.0, 206.0] and state["calls"] == 103


def test_staged_functions_that_a_skipped_call_calls():
    """They run eagerly, as in a call that Python runs after a lookup. Others do not."""
    runs = []

    @ag.function
    def inner(x):
        runs.append(ag.functions_run_eagerly())
        return x + 1

    @ag.function
    def outer(x):
        x.numpy()
        return inner(x) * 2

    x = torch.tensor([1.0])
    outer(x)
    outer.skip_lookups(2)
    runs.clear()
    assert outer(x).item() == 4 and runs == [True]
    assert inner(x).item() == 2 and not ag.functions_run_eagerly()
    assert outer(x).item() == 4 and runs[-1] is True


def test_a_traced_function_calls_a_function_whose_lookups_are_skipped():
    @ag.function
    def inner(x):
        return x + 1

    @ag.function
    def outer(x):
        return inner(x) * 2

    inner.skip_lookups(5)
    assert outer(torch.tensor([1.0])).item() == 4
    assert "add" in outer.graph(torch.tensor([1.0]))


def test_a_refused_shape_is_traced_once(monkeypatch):
    """A trace with unknown sizes that ends because Python has to run the call is not repeated."""
    from autograph.api import lookup

    traces = []

    class Counted(lookup.Trace):
        def __init__(self, *args, **kwargs):
            traces.append(args)
            super().__init__(*args, **kwargs)

    monkeypatch.setattr(lookup, "Trace", Counted)

    @ag.function
    def f(x):
        x.numpy()
        return x + 1

    for k in range(60):
        assert f(torch.zeros(3 + k % 2)).shape == (3 + k % 2,)
    assert len(traces) == 2
