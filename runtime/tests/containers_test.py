"""Lists and dictionaries as arguments have the same contents after a run as after eager execution."""

import pytest
import torch

import autograph as ag
from oracle import assert_same, t


def test_a_list_that_grows():
    def f(xs, n):
        for i in range(n):
            xs.append(xs[-1] * 2)
        return len(xs)

    assert_same(f, ([t(1)], torch.tensor(3)), ([t(1)], torch.tensor(0)))


def test_items_in_one_branch():
    def f(xs, x):
        if x.sum() > 0:
            xs[0] = xs[0] + 1
        else:
            del xs[1]
        return x

    assert_same(f, ([t(1), t(3)], t(1)), ([t(1), t(3)], t(-1)))


def test_a_dictionary():
    def f(d, n):
        for i in range(n):
            d["a"] = d["a"] * 2
        if n > 2:
            d["b"] = d["a"] + 1
        else:
            d["b"] = d["a"]
        d["c"] = 5
        return d

    assert_same(f, ({"a": t(1), "b": t(2)}, torch.tensor(3)), ({"b": t(1), "a": t(2)}, torch.tensor(1)))


def test_nested_containers():
    def f(state, x):
        h, cs = state
        cs[0]["m"] = cs[0]["m"] + x
        cs.append(h)
        return cs, state

    assert_same(f, ((t(1), [{"m": t(2)}]), t(1, 2)))


def test_a_returned_argument_is_the_same_object():
    @ag.function
    def f(xs, x):
        xs.append(x)
        return xs, xs + [x]

    xs = [t(1)]
    same, other = f(xs, t(2))
    assert same is xs and len(xs) == 2 and len(other) == 3


def test_a_run_that_raises_does_not_change_them():
    @ag.function
    def f(xs, x):
        xs.append(x)
        if x.sum() > 0:
            raise ValueError("too large")
        return x

    xs = [t(1)]
    with pytest.raises(ValueError, match="too large"):
        f(xs, t(2))
    assert len(xs) == 1
    f(xs, t(-2))
    assert len(xs) == 2
