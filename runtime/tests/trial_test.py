"""Calls are measured, and Python runs those of functions for which it is faster than a graph."""

import pytest
import torch

import autograph as ag


PAIR = torch.ones(3), torch.ones(3)


@pytest.fixture(autouse=True)
def compared():
    ag.compare_with_python()
    yield
    ag.compare_with_python()


def in_python(staged, calls, *arguments):
    """Calls a staged function. Returns the number of calls that did not run a graph without Python."""
    for _ in range(calls):
        staged(*arguments)
    direct, *_ = staged.take_counts()
    return calls - direct


def test_python_runs_a_small_function():
    staged = ag.function(lambda x, y: x + y)
    assert in_python(staged, 24, *PAIR) <= 2
    assert in_python(staged, 5000, *PAIR) > 2000


def test_measurements_can_be_switched_off():
    ag.compare_with_python(False)
    staged = ag.function(lambda x, y: x + y)
    assert in_python(staged, 2000, *PAIR) <= 2


def chain(x):
    for _ in range(15):
        x = torch.sigmoid(x * 2 + 1)
    return x


def test_the_graph_of_a_larger_function_runs():
    assert in_python(ag.function(chain), 4000, torch.ones(3)) < 100


def test_loops_are_not_measured():
    @ag.function
    def halved(x):
        while x > 1:
            x = x / 2
        return x

    assert in_python(halved, 500, torch.tensor(5.0)) <= 2


def test_effects_happen_once_in_each_call():
    eager = []

    def note():
        eager.append(ag.functions_run_eagerly())

    @ag.function
    def noted(x):
        ag.py_function(note, [])
        return x + 1

    for _ in range(3000):
        noted(torch.ones(3))
    assert len(eager) == 3000 and not any(eager[:24])
    assert sum(eager[1000:]) > 1000


def test_measurements_pause_when_python_has_to_run_calls():
    staged = ag.function(lambda x, y: x + y)
    assert in_python(staged, 5000, *PAIR) > 2000
    staged.pause_measurement()
    assert in_python(staged, 64, *PAIR) == 0
    assert in_python(staged, 5000, *PAIR) > 2000


def test_functions_with_a_fallback():
    """Calls of their graphs are cached. Python may run others before a lookup; they are counted."""
    assert in_python(ag.function(fallback="eager")(chain), 1000, torch.ones(3)) < 100

    @ag.function(fallback="eager")
    def doubled(x):
        return torch.from_numpy(2 * x.numpy())

    for _ in range(2000):
        assert doubled(torch.ones(3)).tolist() == [2, 2, 2]
    (reason, count), = doubled.fallbacks.items()
    assert "numpy" in reason and count == 2000


def test_results_state_and_random_numbers_are_the_same():
    class Counter:
        def __init__(self):
            self.total, self.calls, self.seen = torch.zeros(3), 0, []

        def step(self, x):
            self.calls += 1
            self.total = self.total + x * torch.rand(3)
            return self.total * self.calls

    def run(stage):
        torch.manual_seed(0)
        counter, results = Counter(), []
        step = stage(counter.step)
        for k in range(300):
            results.append(step(torch.full((3,), float(k % 3))))
        return results, counter.total, counter.calls, torch.get_rng_state()

    found, expected = run(ag.function), run(lambda f: f)
    assert found[2] == expected[2]
    assert torch.equal(found[3], expected[3])
    torch.testing.assert_close(found[0], expected[0])
    torch.testing.assert_close(found[1], expected[1])


def test_exceptions_of_measured_calls():
    @ag.function
    def checked(x):
        assert x.sum() < 1000, "too large"
        return x + 1

    for k in range(300):
        if k % 7 == 6:
            with pytest.raises(AssertionError, match="too large"):
                checked(torch.full((3,), 1e4))
        else:
            assert checked(torch.ones(3)).tolist() == [2, 2, 2]


def test_gradients_of_measured_calls():
    layer = torch.nn.Linear(4, 4)
    forward = ag.function(layer.forward)
    for k in range(200):
        x = torch.randn(2, 4, requires_grad=True)
        forward(x).sum().backward()
        torch.testing.assert_close(x.grad, layer.weight.sum(0).expand(2, 4))


def test_a_function_that_is_traced_again():
    @ag.function
    def named(x, name):
        return {name: x + 1}

    for k in range(3000):
        name = f"n{k // 500}"
        assert named(torch.ones(2), name)[name].tolist() == [2, 2]


def test_show_config(capsys):
    ag.show_config()
    assert "calls: graphs, or Python where it is faster" in capsys.readouterr().out
    ag.compare_with_python(False)
    ag.show_config()
    assert "calls: graphs\n" in capsys.readouterr().out
