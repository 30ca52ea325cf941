"""Loops over iterators: rows, `enumerate`, `zip`, counters, and iterators without an end."""

import itertools

import pytest
import torch

import autograph as ag
from oracle import assert_same, t


def test_iterate_tensor_enumerate_zip():
    def f(x, y):
        total = x[0] * 0
        for i, row in enumerate(x):
            total = total + i * row
        for a, b in zip(x, y):
            if a.sum() > 2:
                total = total + a * b
        return total

    assert_same(f, (torch.arange(6.0).reshape(3, 2), torch.ones(3, 2)), (torch.ones(40, 2), torch.ones(30, 2)))


@pytest.mark.parametrize("count", [2, 20])
def test_zip_of_modules_and_rows(count):
    layers = torch.nn.ModuleList([torch.nn.Linear(2, 2) for _ in range(count)])

    def f(x):
        out = []
        for layer, row in zip(layers, x):
            out.append(layer(row))
        return torch.stack(out)

    assert_same(f, (torch.ones(count, 2),))


def sum_up_to(limit, numbers):
    total = torch.tensor(0)
    for number in numbers():
        if total > limit:
            break
        total = total + number
    return total


def test_a_counter_without_end_becomes_a_loop_of_the_graph():
    def numbered(x):
        for i in itertools.count(3, -2):
            if x.sum() > 1000:
                return x, i
            x = x * 1.01
            if i % 3 == 0:
                continue
            x = x + 0.5

    assert_same(sum_up_to, (torch.tensor(10), itertools.count), (torch.tensor(9000), itertools.count))
    assert_same(numbered, (t(1, 2),), (t(2000),))


def doubled(x, counter):
    for _ in counter:
        x = x * 2
        if x.sum() > 50:
            break
    return x


def used_after_the_loop(x):
    counter = itertools.count()
    return doubled(x, counter), next(counter)


def returned_after_the_loop(x):
    counter = itertools.count()
    return doubled(x, counter), counter


def continued_in_each_iteration(x):
    counter, n = itertools.count(), x * 0
    while n.sum() < 6:
        x = doubled(x, counter)
        n = n + 1
    return x


@pytest.mark.parametrize("function", [used_after_the_loop, returned_after_the_loop, continued_in_each_iteration])
def test_a_counter_whose_position_is_needed_after_the_loop_is_refused(function):
    """Only a run knows the position."""
    with pytest.raises(ag.StagingError, match="has not ended"):
        ag.function(function)(t(1))


@pytest.mark.parametrize("numbers", [lambda: itertools.cycle([1, 2]), lambda: (k for k in itertools.count())])
def test_an_iterator_without_end_is_refused_if_only_a_run_knows_when_to_leave(numbers):
    """Tracing would not end, because it would unroll the loop."""
    with pytest.raises(ag.StagingError, match=r"has not ended after \d+ iterations(?s:.*)help: write a `while` loop"):
        ag.function(sum_up_to)(torch.tensor(10), numbers)
    with pytest.warns(ag.FallbackWarning, match="has not ended"):
        assert ag.function(sum_up_to, fallback="eager")(torch.tensor(10), numbers) == sum_up_to(torch.tensor(10), numbers)


def test_an_iterator_without_end_is_unrolled_if_python_leaves_the_loop():
    def powers(x):
        for exponent in itertools.count():
            if exponent == 3:
                return x
            x = x * x

    assert ag.function(powers)(torch.tensor(2)) == powers(torch.tensor(2))


def test_a_long_list_is_unrolled_though_only_a_run_knows_when_to_leave():
    numbers = list(range(2500))
    assert ag.function(sum_up_to)(torch.tensor(10), lambda: numbers) == sum_up_to(torch.tensor(10), lambda: numbers)
