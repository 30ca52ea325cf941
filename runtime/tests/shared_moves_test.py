"""Loops, branches and inner statements that move objects between variables, items and attributes."""

import types

import pytest
import torch

import autograph as ag
from oracle import assert_same, t

CALLS = (t(0, 1),), (t(2, 1),), (t(4, 1),), (t(0, 0),)


def stored_in_each_iteration(x):
    u, table = x * 2, {"n": x}
    for _ in range(20):
        u += 1
        table["u"] = u
    return u, table


def stored_again(x):
    u, table = x * 2, {}
    table["u"] = u
    while u.sum() < 10:
        u += 1
        table["u"] = u
    return u, table


def rotated(x):
    p, q, r = [x], [x * 2], [x * 3]
    n = 0
    while n < x.sum():
        p, q, r = q, r, p
        n += 1
    p.append(x)
    return p, q, r


def moved_by_attributes(x):
    box = types.SimpleNamespace(a=[x], b=[x * 2])
    n = 0
    while n < x.sum():
        box.a, box.b = box.b, box.a
        n += 1
    box.a.append(x)
    return box.a, box.b


def inner_loop(x):
    u, v = x * 2, x * 3
    for i in range(20):
        for _ in range(int(x.sum())):
            u = v
        x = x + 0
    u += 1
    return u, v


def inner_branch(x):
    p, q = [x], [x * 2]
    if x.sum() > 0:
        if x.sum() > 2:
            p = q
        x = x * 2
    p.append(x)
    return p, q


def from_a_list(x):
    items, u = [x * 2, x * 3], x * 4
    for i in range(20):
        if x.sum() * i > 20:
            u = items[0]
    u += 1
    return items, u


def compared(x):
    p, q = [x], [x * 2]
    r = p if x.sum() > 2 else q
    u = x * 2
    v = u if x.sum() > 0 else x * 3
    d, e = {"n": x}, {"n": x * 2}
    if x.sum() > 2:
        e = d
    return x * ((r is p) + 2 * (v is not u) + 4 * (d is e)), r is None


MOVES = [compared, stored_in_each_iteration, stored_again, rotated, moved_by_attributes, inner_loop, inner_branch, from_a_list]


@pytest.mark.filterwarnings("ignore:a call of")
@pytest.mark.parametrize("function", MOVES)
def test_moves(function):
    """The results are equal, or the call is refused at its line. There are never two containers in place of one."""
    for first in range(len(CALLS)):
        try:
            assert_same(function, *CALLS[first:])
        except ag.StagingError as error:
            assert "on some paths only" in str(error) and "line" in str(error)


TREE = {}


def test_a_branch_that_moves_objects_from_outside_keeps_their_identity():
    """If an object is changed after the calls, all names for the object show the change."""

    def swapped(x, k):
        if int(k) > 2:
            TREE["left"], TREE["right"] = TREE["right"], TREE["left"]
        return x * 2

    for make in (lambda n: {"v": n}, lambda n: [n]):
        left, right = make(1.0), make(2.0)
        TREE.update(left=left, right=right)
        staged = ag.function(swapped)
        for k in (3, 3, 1, 3):
            expected = (TREE["right"], TREE["left"]) if k > 2 else (TREE["left"], TREE["right"])
            staged(torch.ones(1), torch.tensor(k))
            assert (TREE["left"], TREE["right"]) == expected and TREE["left"] is expected[0] and TREE["right"] is expected[1]


def _list_of_elif(x, n):
    items = [x]
    pair = items, 1
    if x.sum() > 0:
        items = [x * 2]
    elif n > 0:
        items = [x * 3]
    items.append(x)
    return items, pair


def _tensor_of_elif(x, n):
    y = x * 1
    first = y
    if x.sum() > 0:
        y = y * 2
    elif n > 2:
        y = y * 3
    elif n > 0:
        y = y * 4
    y += 1
    return y, first


def _list_of_a_loop_in_a_branch(x, n):
    items = [x]
    pair = items, 1
    if x.sum() > 0:
        items = [x * 2]
    else:
        while n > 0:
            n = n - 1
            items = [x * n]
    items.append(x)
    return items, pair


def _attribute_of_a_loop_in_a_branch(x, n):
    box = Holder()
    box.items = [x]
    history = [box.items]
    if x.sum() < 0:
        while n > 0:
            n = n - 1
            box.items = [x * n]
    box.items.append(x)
    return box.items, history


class Holder:
    pass


def _item_of_a_new_list(x, n):
    y, best = torch.zeros_like(x), [x]
    if x.sum() > 0:
        y = x + 1
        if n > 1:
            best = [y]
    y[0] = 5
    return y, best


def _item_of_a_new_list_in_a_loop(x, n):
    y, best = torch.zeros_like(x), [x]
    for k in range(20):
        y = y * 0.5 + x
        if k > n:
            best = [y]
    y[0] = 5
    return y, best


@pytest.mark.filterwarnings("ignore:a call of")
@pytest.mark.parametrize(
    "function",
    [
        _list_of_elif, _tensor_of_elif, _list_of_a_loop_in_a_branch, _attribute_of_a_loop_in_a_branch, _item_of_a_new_list,
        _item_of_a_new_list_in_a_loop,
    ],
)  # fmt: skip
def test_an_inner_condition_or_loop_keeps_the_object(function):
    calls = [(t(x), torch.tensor(n)) for x in (1, -1) for n in (0, 3, 1)]
    for first in range(len(calls)):
        assert_same(function, *calls[first:], *calls[:first])
