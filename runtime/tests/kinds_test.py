"""State and lists that are numbers on some paths and tensors on others; iterators without end; sorted objects; copies."""

import collections
import copy
import itertools

import pytest
import torch

import autograph as ag
from oracle import assert_same, assert_same_state, refusal, t

pytestmark = pytest.mark.filterwarnings("ignore:a call of", "ignore:.*is traced for the")


def test_a_number_of_the_state_stays_a_number_on_the_other_path():
    def make():
        table, items = {"best": {"value": 1.0}}, [0, 1.0]

        def step(x):
            if x.sum() > 2:
                table["best"]["value"] = x.sum()
                items[0] = items[0] + 0.5
            return x * 2

        return step, lambda: [(type(v) is int, type(v) is float, float(v)) for v in (table["best"]["value"], *items)]

    assert_same_state(make, [t(0, 1), t(1, 0), t(3, 1), t(0, 1), t(4, 1)])


def test_a_list_of_numbers_to_which_a_loop_appends_tensors():
    def appended(x, n):
        found = [1, 2]
        for _ in range(n):
            found.append(x.sum())
        return found

    def pairs(x, n):
        found = [(0, 1.0)]
        for _ in range(n):
            found.append((1, x.sum()))
        return found

    for function in (appended, pairs):
        assert_same(function, *((t(1, 2), torch.tensor(n)) for n in (2, 0, 3)))


def test_a_key_that_a_loop_adds_to_an_ordered_dictionary():
    def make():
        order = collections.OrderedDict(p=1.0)

        def step(n):
            for k in range(n):
                order["r"] = k
            return n

        return step, lambda: [(key == "r", value) for key, value in order.items()]

    assert_same_state(make, [torch.tensor(2), torch.tensor(0), torch.tensor(3)])


def test_zip_with_an_iterator():
    def endless(x):
        return sum(row * k for row, k in zip(x, itertools.count(1)))

    def cycled(x, y):
        return [a * b for a, b in zip(x, itertools.cycle(y))]

    def advanced(x):
        numbers = iter(range(10))
        found = [row * n for row, n in zip(x, numbers)]
        return found, next(numbers)

    x = torch.arange(6.0).reshape(3, 2)
    assert_same(endless, (x,), (x + 1,))
    assert_same(cycled, (x, x[:2]), (x + 1, x[:2]))
    assert_same(advanced, (x,), (x * 2,))


class Part:
    def __init__(self, low, high):
        self.low, self.high = low, high


def test_sorted_objects():
    def ordered(x):
        parts = sorted([Part(v, v * 2) for v in x.unbind()], key=lambda part: part.high)
        return [part.low for part in parts]

    assert_same(ordered, (t(3, 1, 2),), (t(1, 2, 3),), (t(3, 1, 2),))


def test_copies_of_objects_with_staged_numbers():
    def copied(x):
        part = Part(int(x.sum()), {"x": x})
        other = copy.deepcopy(part)
        other.low += 1
        return part.low, other.low, other.high["x"]

    assert_same(copied, (t(1, 2),), (t(3, 4),))


@pytest.mark.parametrize("function", [torch.cov, torch.corrcoef, lambda x: torch.cov(x, correction=0)])
def test_covariances(function):
    x = torch.tensor([[1.0, 2.0, 4.0], [2.0, 1.0, 0.0]])
    assert_same(lambda x: function(x), (x,), (torch.cat([x, x * 2], 1),), (x[0],))

    def gradient(x):
        leaf = (x * 1).requires_grad_()
        return torch.autograd.grad(function(leaf)[0, 1], leaf)[0]

    assert_same(gradient, (x,))


def test_a_covariance_with_weights_is_refused_at_its_line():
    with pytest.raises(ag.StagingError, match="line"):
        ag.function(lambda x: torch.cov(x, fweights=torch.tensor([1, 2])))(torch.ones(2, 2))


class Recorded:
    def __init__(self):
        self.items, self.pairs, self.last = {"a": 1.5}, [(0, 1.0), (1, 2.0)], 0


def item_in_a_loop(r, x):
    n = 0
    while n < x.sum():
        n += 1
        r.items["a"] = x.sum()
    return x


def item_in_a_loop_that_ends_early(r, x):
    n = 0
    while n < x.sum():
        n += 1
        if x[0] < 0:
            break
        r.items["a"] = x.sum()
    return x


def attribute_on_one_path_in_a_loop(r, x):
    n = 0
    while n < x.sum():
        n += 1
        if n > x[1]:
            r.last = x[0]
    return x


def pairs_of_different_kinds(r, x):
    for _ in range(20):
        r.pairs.reverse()
        x = x * 1.1
    r.pairs.append((1, x.sum()))
    return x


def pairs_in_a_loop(r, x):
    r.pairs.append((1, x.sum()))
    n = 0
    while n < x.sum():
        n += 1
        r.pairs.reverse()
    return x


@pytest.mark.filterwarnings("ignore:a call of", "ignore:.*is traced for the 6th time")
@pytest.mark.parametrize(
    "function",
    [item_in_a_loop, item_in_a_loop_that_ends_early, attribute_on_one_path_in_a_loop, pairs_of_different_kinds, pairs_in_a_loop],
)  # fmt: skip
def test_loops_keep_the_kinds_of_numbers_from_outside(function):
    """An item that is a number before the call remains a number if no iteration assigns it, and tensors keep their dtypes."""

    def program(stage):
        recorded, step, found = Recorded(), stage(function), []
        for number, x in enumerate([t(1.0, 1), t(-1.0, 5), t(0, 0), torch.tensor([-1, 1]), torch.tensor([2, 3]), t(-1.0, 4)]):
            step(recorded, x)
            found.append(repr(vars(recorded)))
            if number % 2:
                recorded.items, recorded.pairs = {"a": 1.5}, [(0, 1.0), (1, 2.0)]
        return found

    assert program(ag.function) == program(lambda f: f)


@pytest.mark.parametrize("function", [attribute_on_one_path_in_a_loop, item_in_a_loop_that_ends_early])
def test_kinds_that_change_after_a_call_of_python_are_refused(function):
    def f(x):
        ag.py_function(int, [], int)  # a run that contradicts a decision could not be repeated
        return function(recorded, x)

    recorded = Recorded()
    assert "numbers of different kinds, or a number and a tensor" in refusal(f, t(1, 2))
