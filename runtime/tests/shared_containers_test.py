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
