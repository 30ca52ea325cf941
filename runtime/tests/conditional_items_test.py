"""Keys that a dictionary gets on some paths only: `if x.sum() > 2: self.found["n"] = x`."""

import collections

import pytest
import torch

from oracle import assert_same_state, t


def _cases(*functions):
    return pytest.mark.parametrize("function", functions, ids=[f.__name__ for f in functions])


def added(d, x):
    if x.sum() > 2:
        d["n"] = 2.0
    return x * len(d)


def added_or_removed(d, x):
    if x.sum() > 2:
        d["n"] = d.get("n", 0) + 1.0
    else:
        d.pop("n", None)
    return x, "n" in d


def added_before_return(d, x):
    if x.sum() > 2:
        d["n"] = x.sum()
        return x * len(d)
    return x


def added_in_a_loop(d, x):
    n = 0
    while n < x.sum():
        d["m"] = n = n + 1
    return x * n, "m" in d


def added_in_both(d, x):
    if x.sum() > 2:
        d["n"] = x
    else:
        d["n"] = x * 2
    return d["n"], len(d)


def another_key(d, x):
    if x.sum() > 2:
        d["large"] = x
    else:
        d["small"] = x
    d["sum"] = x.sum()
    return x, "large" in d, "small" in d, len(d)


CALLS = (t(0, 1), t(2, 1), t(0, 1), t(3, 3), t(2, 1), t(0, 0), t(1, 1))


@pytest.mark.filterwarnings("ignore:a call of")
@_cases(added, added_or_removed, added_before_return, added_in_a_loop, added_in_both, another_key)
def test_keys_of_a_dictionary(function):
    def make():
        found = {"a": 1.0}
        return lambda x: function(found, x), lambda: dict(found)

    for first in range(3):
        assert_same_state(make, CALLS[first:])


@pytest.mark.filterwarnings("ignore:a call of")
@_cases(added, added_or_removed, added_before_return, another_key)
def test_keys_of_a_new_dictionary(function):
    def make():
        def f(x):
            found = {"a": 1.0}
            result = function(found, x)
            return result, found

        return f

    assert_same_state(make, CALLS)


@pytest.mark.filterwarnings("ignore:a call of")
def test_an_element_of_a_defaultdict_is_not_created():
    def make():
        counts = collections.defaultdict(float)

        def f(x):
            for n in range(3):
                if x.sum() > n:
                    counts[n] += x.sum().item()
            return x * len(counts)

        return f, lambda: dict(counts)

    assert_same_state(make, CALLS)


class State:
    pass


def own_default(s, x):
    if x.sum() > 2:
        s.late = getattr(s, "late", 4.0)
    return x, hasattr(s, "late")


def nested(s, x):
    if x.sum() > 2:
        if x.sum() > 4:
            s.late = 5.0
        else:
            s.other = x
    return x, hasattr(s, "other")


def counted(s, x):
    if x.sum() > 2:
        s.late = getattr(s, "late", 4.0) + 1
    if x.sum() > 4:
        s.late = getattr(s, "late", 4.0) + 1
    return x * getattr(s, "late", 0.0)


@_cases(own_default, nested, counted)
def test_attributes_that_exist_on_some_paths(function):
    def make():
        state = State()
        return lambda x: function(state, x), lambda: dict(vars(state))

    for first in range(3):
        assert_same_state(make, CALLS[first:])


@pytest.mark.filterwarnings("ignore:a call of")
def test_a_list_that_two_attributes_share_is_replaced_on_some_paths():
    def make():
        state = State()
        state.items = state.same = [1.0, 2.0]

        def f(x):
            if x.sum() > 4:
                state.items = [3.0, x.sum().item()]
            state.items.append(5.0)
            return x

        return f, lambda: (state.items is state.same, list(state.items), list(state.same))

    for first in range(3):
        assert_same_state(make, CALLS[first:])


class Table:
    """Keeps its items in a dictionary."""

    def __init__(self):
        self.items = {"a": 1.0}

    def __getitem__(self, key):
        return self.items[key]

    def __setitem__(self, key, value):
        self.items[key] = value

    def __len__(self):
        return len(self.items)


class Pairs:
    """Keeps its items in a list."""

    def __init__(self):
        self.items = [["a", 1.0]]

    def __getitem__(self, key):
        return dict(self.items)[key]

    def __setitem__(self, key, value):
        self.items = [pair for pair in self.items if pair[0] != key]
        self.items.append([key, value])

    def __len__(self):
        return len(self.items)


@pytest.mark.parametrize("kind", [Table, Pairs])
def test_an_item_of_an_object_is_missing_in_the_first_iteration_of_a_staged_loop(kind):
    def make():
        table, lengths = kind(), []

        def f(x):
            if x.sum() > 2:
                for _ in range(20):
                    lengths.append(len(table))
                    table["b"] = 2
            return x

        return f, lambda: (len(table), list(lengths))

    for first in range(3):
        assert_same_state(make, CALLS[first:])
