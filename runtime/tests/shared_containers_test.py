"""Lists and dictionaries that are the same object in two variables on some paths only: `if x.sum() > 2: a = b`."""

import warnings

import pytest
import torch

import autograph as ag
from oracle import assert_same, assert_same_state, refusal, t

CALLS = (t(0, 1),), (t(2, 1),), (t(4, 1),), (t(0, 0),)


def changed_after(x):
    a, b = [x], [x * 2]
    if x.sum() > 2:
        b = a
    b.append(x)
    return a, b


def other_changed_after(x):
    a, b = [x], [x * 2]
    if x.sum() > 2:
        b = a
    a[0] = x * 3
    return a, b


def expression(x):
    a = [x * 2]
    b = a if x.sum() > 2 else [x]
    b.append(x)
    return a, b


def dictionary(x):
    a, b = {"k": x}, {"k": x * 2}
    if x.sum() > 2:
        b = a
    else:
        b = {"k": x * 4}
    a["k"] = x * 3
    return a, b


def both(x):
    a, b = [x, x + 1], None
    if x.sum() > 2:
        a.append(x * 2)
        b = a
    else:
        b = a
    b.append(x)
    return a, b, a is b


@pytest.mark.filterwarnings("ignore:a call of")
@pytest.mark.parametrize("function", [changed_after, other_changed_after, expression, dictionary, both])
def test_a_container_that_is_changed(function):
    for first in range(len(CALLS)):
        assert_same(function, *CALLS[first:])


def not_changed(x):
    a, b = [x], [x * 2]
    if x.sum() > 2:
        b = a
    return a, b


def best(x):
    found, score = [x], torch.zeros(())
    for n in range(20):
        current = [x * n]
        current.append(x)
        if x.sum() * n % 7 > score:
            found, score = current, x.sum() * n % 7
    return found, score


def extended(x):
    a = [x]
    if x.sum() > 2:
        a = a + [x]
    a.append(x * 2)
    return a


@pytest.mark.parametrize("function", [not_changed, best, extended])
def test_a_container_that_the_graph_merges(function):
    """One graph serves all calls."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", ag.FallbackWarning)
        staged = assert_same(function, *CALLS)
    assert sum(map(len, staged._traces.values())) == 1


def test_a_change_that_cannot_be_decided_is_refused():
    def f(x):
        a, b = [x], [x * 2]
        ag.py_function(int, [], int)  # a run that contradicts a decision could not be repeated
        if x.sum() > 2:
            b = a
        b.append(x)
        return a, b

    message = refusal(f, t(3, 4))
    assert "on some paths only" in message and "copy the list where it is assigned" in message


@pytest.mark.filterwarnings("ignore:a call of")
def test_a_list_that_two_attributes_share_is_replaced_in_a_loop():
    class State:
        pass

    def make():
        state = State()
        state.items = state.same = [1.0, 2.0]

        def f(x):
            n = 0
            while n < x.sum():
                state.items.reverse()
                if n > 1:
                    state.items = [3.0, x.sum().item()]
                n += 1
            return x

        return f, lambda: (state.items is state.same, list(state.items), list(state.same))

    for call in CALLS:
        assert_same_state(make, [call[0]])


class Shared:
    """Attributes of which two pairs hold the same container."""

    def __init__(self):
        self.items = self.same = [1.0, 2.0]
        self.counts, self.other, self.log = {"n": 1.0}, {"n": 2.0}, []

    def trim(self):
        self.items = self.items[-1:]

    def share(self):
        self.same = self.items

    def state(self):
        holders = [self.items, self.same, *(v for v in self.log)]
        is_same = [[a is b for b in holders] for a in holders]
        return is_same, self.counts is self.other, *map(list, holders), dict(self.counts), dict(self.other)


def replaced_by_a_method(s, x):
    if x.sum() > 3:
        s.trim()
    s.items.append(x.sum().item())


def shared_by_a_method(s, x):
    s.items = s.items[:]
    if x.sum() > 3:
        s.share()


def shared_in_a_loop(s, x):
    s.items, n = s.items[:], 0
    while n < x.sum():
        s.same = s.items
        n += 1


def shared_by_a_method_in_a_loop(s, x):
    s.items, n = s.items[:], 0
    while n < x.sum():
        s.share()
        n += 1


def new_in_two_attributes(s, x):
    if x.sum() > 3:
        s.items = s.same = [1.0]
    else:
        s.items = [2.0]


def dictionary_in_a_loop(s, x):
    n = 0
    while n < x.sum():
        s.counts = s.other
        n += 1
    s.counts["n"] += 1


def inside_another_list(s, x):
    if x.sum() > 3:
        s.log = [s.items]
    else:
        s.log = [[0.0]]
    s.items[0] += 1


def inside_another_list_in_a_loop(s, x):
    n = 0
    while n < x.sum():
        s.log = [s.items]
        n += 1
    s.items[0] += 1


def replaced_where_numbers_are_inputs(s, x):
    if x.sum() > 3:
        s.items = [max(s.items), 2.0]
    else:
        s.items[:1] = [s.items[-1] + 1]


@pytest.mark.filterwarnings("ignore:a call of", "ignore:.*is traced for the 6th time")
@pytest.mark.parametrize(
    "function",
    [replaced_by_a_method, shared_by_a_method, shared_in_a_loop, shared_by_a_method_in_a_loop, new_in_two_attributes,
     dictionary_in_a_loop, inside_another_list, inside_another_list_in_a_loop, replaced_where_numbers_are_inputs],
)  # fmt: skip
def test_containers_in_attributes_stay_shared_after_the_call(function):
    def program(stage):
        shared, found = Shared(), []
        step = stage(function)
        for n in (0.5, 1.5, 3, 1, 4):
            step(shared, t(n, n))
            found.append(shared.state())
            shared.items.append(9.0)
            shared.other["z"] = 1.0
        return found

    assert program(ag.function) == program(lambda f: f)


def new_in_two_variables(x):
    a, b = [x], [x]
    if x.sum() > 3:
        a = [x * 2]
        b = a
    a.append(x)
    return len(a), len(b)


def held_by_another_variable(x):
    a = [x]
    b = a
    if x.sum() > 3:
        a = a + [x]
    a.append(x)
    return len(a), len(b)


def assigned_in_a_loop(x):
    a, b, n = [x], [x * 2], 0
    while n < x.sum():
        b.append(x)
        b = a
        n += 1
    b.append(x)
    return len(a), len(b)


def new_in_a_loop(x):
    a, b, n = [x], [x * 2], 0
    while n < x.sum():
        a = [x, x]
        b = a
        n += 1
    b.append(x)
    return len(a), len(b)


def many_iterations(x):
    a = [x]
    for _ in range(20):
        x = x * 1.1
        b = a
    b.append(x)
    return len(a), x


def dictionaries(x):
    d = e = {"k": x}
    if x.sum() > 3:
        d = {"k": x * 2}
        e = d
    d["k"] = x * 5
    return e["k"]


def dictionaries_in_a_loop(x):
    d, e, n = {"k": x}, {"k": x}, 0
    while n < x.sum():
        d = {"k": x * 2}
        e = d
        n += 1
    d["k"] = x * 5
    return e["k"]


@pytest.mark.filterwarnings("ignore:a call of")
@pytest.mark.parametrize(
    "function",
    [new_in_two_variables, held_by_another_variable, assigned_in_a_loop, new_in_a_loop, many_iterations, dictionaries,
     dictionaries_in_a_loop],
)  # fmt: skip
def test_containers_in_variables_stay_shared(function):
    for first in range(len(CALLS)):
        assert_same(function, *CALLS[first:])


def test_an_attribute_that_cannot_be_decided_is_refused():
    shared = Shared()

    def f(x):
        ag.py_function(int, [], int)  # a run that contradicts a decision could not be repeated
        if x.sum() > 2:
            shared.items = [3.0]
        return x

    message = refusal(f, t(3, 4))
    assert "`shared.items` is the list of another variable or attribute on some paths only" in message


def grown_in_a_loop(x):
    out, n = [], 0
    while n < x.sum():
        out = out + [x]
        if n > 1:
            out.append(x)
        n += 1
    return out


def previous_row(x):
    previous = [x] * 2
    for i in range(20):
        current = [x * i, previous[0] + previous[1]]
        previous = current
    return torch.stack(previous)


@pytest.mark.parametrize("function", [grown_in_a_loop, previous_row])
def test_lists_of_loops_that_nothing_shares(function):
    """One graph serves all calls."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", ag.FallbackWarning)
        staged = assert_same(function, *CALLS)
    assert sum(map(len, staged._traces.values())) == 1
