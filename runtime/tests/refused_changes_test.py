"""Changes of Python state that a graph cannot represent are refused, with the line of the change."""

import collections
import io
import random

import numpy as np
import pytest
import torch

import autograph as ag
from oracle import refusal, t


class Counter:
    total = 0

    def __init__(self):
        self.n = 0

    def add(self):
        self.n += 1
        Counter.total += 1


def test_contents_that_a_graph_cannot_hold():
    """The message names the changed object and the line of the change."""

    def helper(value, x):
        y = x + 1
        if isinstance(value, set):
            value.add(1)
        elif isinstance(value, bytearray):
            value.append(1)
        elif isinstance(value, io.StringIO):
            value.write("a")
        elif isinstance(value, np.ndarray):
            value[0] += 1
        else:
            next(value)
        return y

    lines = {set: "value.add(1)", np.ndarray: "value[0] += 1", type(iter([])): "next(value)"}
    for make in (set, lambda: np.zeros(2), lambda: iter([1, 2]), bytearray, io.StringIO, lambda: (k for k in range(3))):

        def branch(x):
            ag.py_function(int, [], int)  # conditions after a call of Python cannot be decided while tracing
            while x.sum() < 9:
                value = make()
                if x.sum() > 3:
                    x = helper(value, x)
                x = x + 1
            return x

        message = refusal(branch, t(1, 2))
        assert "below a staged condition or in a loop of the graph" in message
        assert lines.get(type(make()), "value") in message


def test_a_generator_from_outside():
    numbers = (k for k in range(9))

    def f(x):
        return x + next(numbers)

    message = refusal(f, t(1))
    assert "the position of the generator" in message and "return x + next(numbers)" in message


def test_growth_of_a_deque():
    def f(x):
        ag.py_function(int, [], int)
        while x.sum() < 9:
            queue = collections.deque()
            if x.sum() > 3:
                queue.append(x)
            x = x + len(queue) + 1
        return x

    assert "the number of items of a deque" in refusal(f, t(1, 2))


def test_a_condition_that_changes_state():
    def f(x):
        counter = Counter()

        def test():
            counter.add()
            return x.sum() < 10

        ag.py_function(int, [], int)
        while test():
            x = x + 1
        return x, counter.n

    assert "the condition of a staged loop changes `Counter." in refusal(f, t(1, 2))


def test_an_element_at_a_staged_index_of_a_default():
    def helper(i, seen=[0, 0, 0]):
        seen[i] = 1
        return sum(seen)

    def f(x):
        return x + helper(int(x.sum()))

    assert "another object also holds" in refusal(f, t(1))


def test_a_setter_with_an_effect():
    class Box:
        def __init__(self):
            self.n, self.writes = 0, 0

        @property
        def value(self):
            return self.n

        @value.setter
        def value(self, value):
            self.n = value
            self.writes += 1

    def f(x):
        box = Box()
        ag.py_function(int, [], int)
        while x.sum() < 10:
            x = x + 1
            box.value = box.value + 1
        return x, box.writes

    assert "assigning `box.value` runs code that changes Box.writes" in refusal(f, t(1))


def test_nothing_changes_when_staging_fails():
    seen, numbers, array, counter = {1}, iter([1, 2, 3]), np.zeros(2), Counter()

    def f(x):
        seen.add(2)
        next(numbers)
        array[0] = 5
        counter.add()
        Counter.total += 1
        return x.numpy()

    Counter.total = 0
    refusal(f, t(1))
    assert seen == {1} and next(numbers) == 1 and array.tolist() == [0, 0] and counter.n == Counter.total == 0


def arrays_and_tensors():
    array = np.ones(2, dtype="f4")
    tensor = torch.from_numpy(array)

    def read_and_changed(x):
        y = tensor * x
        array[0] += 1
        return y + tensor

    def changed_and_shared(x):
        array[:] += 1
        return x + torch.from_numpy(array)

    return array, read_and_changed, changed_and_shared


@pytest.mark.parametrize("which", [1, 2])
def test_an_array_that_shares_memory_with_a_tensor_is_not_changed(which):
    made = arrays_and_tensors()
    array, function = made[0], made[which]
    with pytest.raises(ag.StagingError, match="shares memory with a tensor") as caught:
        ag.function(function)(t(1, 2))
    assert "array[" in str(caught.value) and array.tolist() == [1, 1]

