"""Functions with `functools.lru_cache` and `functools.cache`: staged code uses and fills the cache."""

import functools

import torch
from torch import nn

import autograph as ag
from oracle import assert_same_state, refusal, t

CALLS = []


@functools.lru_cache(maxsize=None)
def table(n):
    CALLS.append(n)
    return torch.arange(n, dtype=torch.float32) * 2


def compare(function, make_arguments, calls=3, setup=lambda: None):
    """Calls a function eagerly and staged, each with empty caches, and compares results and effects."""
    found = []
    for run in (function, ag.function(function)):
        table.cache_clear()
        CALLS.clear()
        torch.manual_seed(0)
        setup()
        found.append(([run(*make_arguments(i)) for i in range(calls)], list(CALLS), torch.rand(1)))
    (expected, effects, random), (results, staged_effects, staged_random) = found
    torch.testing.assert_close(results, expected, rtol=0, atol=0)
    assert staged_effects == effects and torch.equal(staged_random, random)


def test_the_function_is_called_once():
    def function(x):
        return x * table(3) + table(3)

    compare(function, lambda i: (torch.ones(3) * i,))
    assert CALLS == [3]


def test_a_value_that_eager_code_has_cached_is_found():
    @ag.function
    def function(x):
        return x * table(4)

    table.cache_clear()
    CALLS.clear()
    cached = table(4)
    cached.add_(1)
    assert torch.equal(function(torch.ones(4)), cached) and CALLS == [4]
    cached.add_(1)
    assert torch.equal(function(torch.ones(4)), cached)


def test_random_numbers_are_drawn_once():
    @functools.cache
    def noise(n):
        return torch.rand(n)

    def function(x):
        return x + noise(2) + torch.rand(2)

    compare(function, lambda i: (torch.zeros(2),), setup=noise.cache_clear)


def test_a_list_from_the_cache_keeps_its_items():
    @functools.cache
    def history():
        return []

    def function(x):
        history().append(x.sum())
        return torch.stack(list(history())).sum()

    compare(function, lambda i: (torch.ones(2) * i,), setup=history.cache_clear)


def test_below_a_staged_condition_and_in_a_loop():
    def function(x):
        for i in range(3):
            if x.sum() > 0:
                x = x - table(3)
        return x

    compare(function, lambda i: (torch.ones(3) * (5 - i),))


def test_a_method():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3))
            self.made = 0

        @functools.lru_cache
        def scale(self, n):
            self.made += 1
            return n / 2

        def forward(self, x):
            return x * self.weight * self.scale(3)

    made = []
    for stage in (lambda f: f, ag.function):
        model = Model()
        run = stage(model)
        results = [run(torch.ones(3) * i) for i in range(4)]
        made.append((torch.stack(results).tolist(), model.made))
        results[-1].sum().backward()
        assert model.weight.grad.tolist() == [4.5] * 3
    assert made[0] == made[1]


def test_staged_arguments_do_not_reach_the_cache():
    @functools.lru_cache
    def double(x):
        return x * 2

    def function(x, n):
        y = double(x)
        i = 0
        while i < n:
            y = y + double(i)
            i = i + 1
        return y

    double.cache_clear()
    compare(function, lambda i: (torch.ones(2) * i, torch.tensor(i)))
    staged = ag.function(function)
    double.cache_clear()
    staged(torch.ones(2), torch.tensor(3))
    assert double.cache_info().currsize == 0


def test_a_function_that_reads_staged_values():
    class Model:
        pass

    model = Model()

    @functools.lru_cache
    def scaled(n):
        return model.value * n

    def function(x):
        model.value = x + 1
        return scaled(2)

    assert ag.function(function)(torch.ones(2)).tolist() == [4, 4]
    assert ag.function(function)(torch.zeros(2)).tolist() == [2, 2]


def test_a_cache_that_the_function_makes():
    def function(x):
        made = []

        @functools.cache
        def inner(n):
            made.append(n)
            return x * n

        y = inner(2) + inner(2)
        return y, len(made)

    function_ = ag.function(function)
    for i in range(3):
        expected, (result, count) = function(torch.ones(2) * i)[0], function_(torch.ones(2) * i)
        assert torch.equal(result, expected)


def test_an_exception_is_that_of_eager_code():
    @functools.cache
    def checked(n):
        if n > 2:
            raise ValueError(f"{n} is too large")
        return n

    def function(x, n):
        try:
            return x + checked(n)
        except ValueError:
            return x

    compare(function, lambda i: (torch.ones(2), i + 1))


def test_a_change_of_state_that_the_trace_has_already_changed_is_refused():
    class Model:
        table = None

    model = Model()

    @functools.cache
    def make():
        model.table = torch.ones(2)

    def function(x):
        model.table = 2.0
        make()
        return x

    message = refusal(function, torch.ones(2))
    assert "`make`, which has a cache, changes Model.table, which the function has changed before" in message


def test_a_cached_function_that_changes_state_which_the_function_reads():
    """Each call of the cached function changes `made`, so a graph is valid for the same state only."""

    def make():
        made = []

        @functools.lru_cache(maxsize=2)
        def square(n):
            made.append(n)
            return n * n

        return (lambda x: x + square(len(x)) + square(len(made))), lambda: made

    assert_same_state(make, [t(1, 2, 3)] * 5)
