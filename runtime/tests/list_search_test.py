"""Searches in lists whose length only a run knows, and loops over lists that the loop changes."""

import copy
import itertools

import pytest

import autograph as ag
from oracle import assert_same, assert_same_state, refusal, t

CALLS = ((t(1, 2, -3),), (t(-1, 2, 3),), (t(0.5, 0.5, 0.5),), (t(-1, -1, -1),))


def selected(x):
    found = []
    for k in (1, 2, 1, 2):
        if x[k] > 0:
            found.append(k)
    return found


def test_searches():
    def f(x):
        found = selected(x)
        is_seen = 2 in found
        label = 0
        if x[0] > 0 and 1 not in found:
            label = 5
        return is_seen, found.count(2), found.index(2) if is_seen else -1, label

    assert_same(f, *CALLS)


def test_searches_below_a_condition():
    """Breadth-first search in a graph whose edges depend on the data."""
    neighbors = [[1, 2], [3], [3], []]

    def f(x):
        queue, seen = [0], [0]
        while queue:
            node = queue.pop(0)
            for other in neighbors[node]:
                if x[other % 3] > 0 and other not in seen:
                    seen.append(other)
                    queue.append(other)
        return seen

    assert_same(f, *CALLS)


def test_searches_for_tensors():
    def f(x):
        positive = []
        for value in x:
            if value > 0:
                positive.append(value)
        return x[1] in positive, positive.count(x[1]), len(positive)

    assert_same(f, *CALLS)


def test_reductions_of_numbers():
    def f(x):
        found = selected(x)
        values = [7.5]
        for value in x:
            if value > 0:
                values.append(value.item() * 2)
        extremes = max(values), min(values), max(found) if found else None
        ordered = values.copy()
        ordered.sort(reverse=True)
        ordered.append(1.0)
        extremes = *extremes, ordered
        return sum(found), sum(found, 10), sum(values) / len(values), extremes, any(found), all(found), sorted(values)

    assert_same(f, *CALLS)
    with pytest.raises(ValueError, match="max.* empty"):
        ag.function(lambda x: max(selected(x)))(CALLS[3][0])


def test_an_item_that_is_missing():
    def f(x):
        found = selected(x)
        found.remove(2)
        return found

    def caught(x):
        try:
            return selected(x).index(2)
        except ValueError as error:
            return str(error)

    assert_same(f, CALLS[1])
    assert_same(caught, *CALLS)
    with pytest.raises(ValueError, match="2 is not in list"):
        ag.function(f)(CALLS[0][0])


def test_comparisons_copies_and_texts():
    def f(x):
        found = selected(x)
        copied = copy.copy(found)
        copied.append(7)
        compared = found == [1, 1], [1, 1] == found, found != selected(x), found < [2]
        return compared, copied, f"{found}", str(found), list(reversed(found)), [*found, 9]

    assert_same(f, *CALLS)


def growing():
    def f(x):
        items, seen = [1, 2, 3], []
        for position, item in enumerate(items):
            if len(items) < 6 and x[0] > 0:
                items.append(item * 2)
            seen.append(item + position)
        return seen

    return f


def shrinking():
    def f(x):
        items, seen = [1, 2, 3, 4], []
        for item in items:
            if x[0] > 0:
                items.remove(item)
            seen.append(item)
        return seen, items

    return f


def outer():
    items = [1, 2]

    def f(x):
        total = 0
        for item, factor in zip(items, itertools.count()):
            total += item * factor
            if x[1] > 1 and len(items) < 5:
                items.append(factor)
        return total

    return f, lambda: items


@pytest.mark.parametrize("make", [growing, shrinking, outer])
def test_a_loop_over_a_list_that_it_changes(make):
    """The conditions are decided for the call."""
    assert_same_state(make, [x for (x,) in CALLS])


def test_a_loop_over_a_list_that_it_changes_below_a_condition():
    def f(x):
        ag.py_function(int, [], int)  # the following conditions cannot be decided
        items = [1, 2, 3]
        for item in items:
            if x[0] > item:
                items.append(item)
        return items

    assert "in a loop over this list" in refusal(f, t(1, 2, 3))


def items_that_are_lists():
    buckets = [[], [7]]

    def f(x):
        for value in x:
            if value > 0:
                buckets[int(value) % 2].append(int(value))
        last = buckets[0 if x[0] > 0 else 1]
        last.append(9)
        return len(buckets[0]), last

    return f, lambda: buckets


def items_that_are_dictionaries():
    def f(x):
        rows = [{"a": 1}, {"a": 2}]
        rows[0 if x[0] > 0 else 1]["a"] = 9
        return rows

    return f


@pytest.mark.parametrize("make", [items_that_are_lists, items_that_are_dictionaries])
def test_a_change_of_an_item_at_a_staged_index(make):
    """The index is decided for the call, because the item of the graph would be a copy."""
    assert_same_state(make, [x for (x,) in CALLS])


def test_a_change_of_an_item_of_a_list_of_the_graph():
    def f(x):
        pairs = []
        for value in x:
            if value > 0:
                pairs.append([value])
        for pair in pairs:
            pair.append(1.0)
        return pairs

    assert "an item that is changed later" in refusal(f, t(1, 2, 3))
