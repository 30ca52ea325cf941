"""Calls that change some items of a list or dictionary that exists outside the function. Each call reads the current
values of all items."""

import collections
import copy
from types import SimpleNamespace

import pytest
import torch

import autograph as ag


def histories(function, between, state):
    """Returns the histories of eager and staged calls. A history has six pairs: the result of a call, and the value of
    `between(now, n)` after the call. `now` is new state from `state()`."""
    found = []
    for wrap in (lambda f: f, ag.function):
        now = state()
        wrapped = wrap(lambda x: function(now, x))
        found.append([(wrapped(torch.ones(1)), between(now, n)) for n in range(6)])
    return found


def scale_one_key(s, x):
    s.items["a"] *= 0.5
    return x * s.items["b"]


def scale_one_index(s, x):
    s.items[0] *= 0.5
    return x * s.items[1]


def length(s, x):
    s.items[0] = 0.0
    return x * len(s.items)


def set_one_tensor(s, x):
    s.items[0] = x + 1
    return x * s.items[1]


def sum_of_others(s, x):
    s.items["a"] = 1.0
    return x * sum(value for key, value in s.items.items() if key != "a")


def add_to(name):
    def between(s, n):
        s.items[name] = s.items[name] + n

    return between


CASES = {
    "number at another key": (scale_one_key, add_to("b"), lambda: {"a": 1.0, "b": 2.0}),
    "number at another index": (scale_one_index, add_to(1), lambda: [1.0, 2.0]),
    "tensor at another index": (set_one_tensor, add_to(1), lambda: [torch.ones(1), torch.ones(1)]),
    "number of items": (length, lambda s, n: s.items.append(1.0), lambda: [1.0, 2.0]),
    "new keys": (sum_of_others, lambda s, n: s.items.update({f"k{n % 4}": n}), lambda: {"a": 1.0}),
    "large list": (scale_one_index, add_to(1), lambda: [float(n) for n in range(2000)]),
    "large dictionary": (scale_one_index, add_to(1), lambda: {n: float(n) for n in range(2000)}),
}


@pytest.mark.parametrize("function, between, items", CASES.values(), ids=CASES)
def test_items_that_are_only_read(function, between, items):
    expected, found = histories(function, between, lambda: SimpleNamespace(items=items()))
    torch.testing.assert_close(found, expected)


def test_list_that_is_replaced_in_each_call():
    """The lists of earlier calls keep their items."""

    def record(s, x):
        s.step += 1
        s.rate = s.rate * 0.9 + s.step
        s.last = [s.rate, s.step]
        return x * s.rate

    def state():
        return SimpleNamespace(step=0, rate=1.0, last=[0.0, 0])

    expected, found = histories(record, lambda s, n: s.last, state)
    assert found == expected


def test_list_that_is_changed_and_replaced():
    def window(s, x):
        s.recent.append(s.recent[-1] + 1.0)
        s.recent = s.recent[-3:]
        return x * sum(s.recent)

    expected, found = histories(window, lambda s, n: s.recent, lambda: SimpleNamespace(recent=[0.0]))
    assert found == expected


def test_numbers_in_a_list_become_inputs():
    """The function is traced at most three times: at the first call, and at the first and second change of the
    number."""

    def step(s, x):
        s.count[0] += 1
        return x * s.count[0] * s.rates[0]

    state = SimpleNamespace(count=[0, 5], rates=[0.5])
    staged = ag.function(lambda x: step(state, x))
    for n in range(6):
        state.rates[0] += 1
        torch.testing.assert_close(staged(torch.ones(1)), torch.ones(1) * state.count[0] * state.rates[0])
    assert state.count == [6, 5]
    assert sum(map(len, staged._traces.values())) <= 3


CONTAINERS = {
    "deque": lambda: collections.deque([0.0, 0.0, 0.0], maxlen=3),
    "defaultdict": lambda: collections.defaultdict(float, {0: 0.0, 2: 1.0}),
    "OrderedDict": lambda: collections.OrderedDict({0: 0.0, 2: 1.0}),
}


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
def test_containers_with_numbers_are_not_traced_in_each_call(container):
    def step(s, x):
        if isinstance(s.items, dict):
            s.items[0] += s.items[2]
            s.items[2] += 1.0
            return x * sum(s.items.values())
        s.items.append(s.items[-1] + 1.0)
        return x * sum(s.items)

    state, eager = SimpleNamespace(items=container()), SimpleNamespace(items=container())
    staged = ag.function(lambda x: step(state, x))
    for _ in range(8):
        torch.testing.assert_close(staged(torch.ones(1)), step(eager, torch.ones(1)))
        assert state.items == eager.items and type(state.items) is type(eager.items)
    assert sum(map(len, staged._traces.values())) <= 4


def test_tensors_that_move_in_a_list():
    """Each call moves the tensors that are in the list at that time, including those that the graph does not use."""

    def step(s, x):
        s.recent = [s.recent[1], x + s.recent[0]]
        return x

    def between(s, n):
        return [tensor.clone() for tensor in s.recent]

    expected, found = histories(step, between, lambda: SimpleNamespace(recent=[torch.ones(1), torch.zeros(1)]))
    torch.testing.assert_close(found, expected)


def test_containers_that_move():
    """A run returns and assigns existing containers, including containers in other containers."""

    def step(s, x):
        s.records = s.records[:1] + s.records[:1]
        s.first = s.nested["a"]["b"]
        s.lists = [s.lists[1], s.lists[0]]
        return s.records[0], s.lists[0], s.first, s.queue

    def between(s, n):
        state = copy.deepcopy([s.records, s.first, s.lists, s.queue])
        s.records = [{"k": float(n)}, {"k": 2.0}]
        s.nested["a"] = {"b": [float(n)]}
        s.lists = [[float(n)], s.lists[0]]
        s.queue = collections.deque([float(n)], maxlen=2)
        return state

    def state():
        records, queue = [{"k": 1.0}, {"k": 2.0}], collections.deque([1.0], maxlen=2)
        return SimpleNamespace(records=records, nested={"a": {"b": [1.0]}}, lists=[[1.0], [2.0]], queue=queue)

    expected, found = histories(step, between, state)
    assert found == expected


def test_lists_that_two_attributes_share():
    def step(s, x):
        s.items = [s.items[0] + 1.0, 2.0]
        s.same = s.items
        s.copy = s.kept[:]
        s.items.append(3.0)
        return x

    def between(s, n):
        return s.same is s.items, s.copy is s.kept, list(s.same), list(s.copy)

    expected, found = histories(step, between, lambda: SimpleNamespace(items=[1.0], kept=[0.0], copy=None, same=None))
    assert found == expected


def test_two_places_hold_the_same_container_later():
    """The places held different containers when the function was traced."""

    def program(wrap):
        state = SimpleNamespace(a={"k": torch.ones(1)}, b={"k": torch.ones(1) * 2}, l=[torch.ones(1)], m=[torch.ones(1) * 4])

        @wrap
        def f(x):
            a, m = state.a, state.m
            state.b["k"] = state.b["k"] + x
            state.l.append(x * 3)
            state.l.pop(0)
            return a["k"] * x, m[0] + 0

        found = []
        for call in range(6):
            if call == 2:
                state.a = state.b
            if call == 3:
                state.m = state.l
            if call == 4:
                state.a = {"k": torch.ones(1) * 7}
            found.append(f(torch.ones(1)))
        return found, state.a, state.b, state.l, state.m

    torch.testing.assert_close(program(ag.function), program(lambda f: f))
