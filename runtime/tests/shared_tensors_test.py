"""Tensors that are the same object in two variables on some paths only: `if x.sum() > 2: a = b`."""

import warnings

import pytest
import torch

import autograph as ag
from oracle import assert_same, refusal, t

CALLS = (t(0, 1),), (t(2, 1),), (t(4, 1),), (t(0, 0),)


def one_of_two_tensors(x):
    a, b = x * 1, x * 2
    if x.sum() > 3:
        b = a
    b += 1
    return a, b


def original_is_changed(x):
    a, b = x * 1, x * 2
    if x.sum() > 3:
        b = a
    a[0] = 7
    return a, b


def row_of_another_tensor(x):
    a, b = torch.outer(x, x), x * 2
    if x.sum() > 3:
        b = a[0]
    b.mul_(2)
    return a, b


def argument_on_one_path(x):
    if x.sum() > 3:
        x = x * 2
    x += 1
    return x


def new_tensor_in_two_variables(x):
    a, b = x * 1, x * 2
    if x.sum() > 3:
        a = b = x * 3
    b += 1
    return a, b


def tensor_in_a_loop(x):
    a, b, n = x * 1, x * 2, 0
    while n < x.sum():
        b = a
        n += 1
    b += 1
    return a, b


def changed_in_the_next_iteration(x):
    a, b, n = x * 1, x * 2, 0
    while n < x.sum():
        b += 1
        b = a
        n += 1
    return a, b


@pytest.mark.filterwarnings("ignore:a call of")
@pytest.mark.parametrize(
    "function",
    [one_of_two_tensors, original_is_changed, row_of_another_tensor, argument_on_one_path, new_tensor_in_two_variables,
     tensor_in_a_loop, changed_in_the_next_iteration],
)  # fmt: skip
def test_tensors_in_variables_stay_shared(function):
    for first in range(len(CALLS)):
        assert_same(function, *CALLS[first:])


def test_a_change_of_a_tensor_that_cannot_be_decided_is_refused():
    def f(x):
        a, b = x * 1, x * 2
        ag.py_function(int, [], int)  # a run that contradicts a decision could not be repeated
        if x.sum() > 2:
            b = a
        b += 1
        return a, b

    message = refusal(f, t(3, 4))
    assert "on some paths only" in message and "`a = b.clone()`" in message


def changed_where_nothing_else_holds_it(x):
    y = torch.zeros_like(x)
    if x.sum() > 2:
        y = y + x
    y[0] = 5
    return y


def changed_after_elif(x):
    y, items = torch.zeros_like(x), [x]
    if x.sum() > 2:
        y, items = y + x, [x * 2]
    elif x.sum() > 0:
        for _ in range(20):
            y = y * 2 + x
            if y.sum() > 3:
                items = [y * 2]
    y[0] = 5
    items.append(x)
    return y, items


@pytest.mark.parametrize("function", [changed_where_nothing_else_holds_it, changed_after_elif])
def test_a_tensor_that_nothing_shares_is_merged(function):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ag.FallbackWarning)
        staged = assert_same(function, *CALLS)
    assert sum(map(len, staged._traces.values())) == 1
