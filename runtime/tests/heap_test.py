"""Python state that staged code changes: each run makes the same changes as eager Python."""

import collections
import contextvars
import dataclasses
import datetime
import functools
import itertools
import threading
import types
import weakref

import numpy as np
import pytest
import torch

import autograph as ag
from oracle import assert_equal, assert_same_state, t

CALLS = (t(1, 1), t(4, 1), t(1, 1), t(3, 3))
STATE = {"n": 0}
CASES = []


class Counter:
    total = 0

    def __init__(self):
        self.n, self.log = 0, []

    def add(self, k=1):
        self.n += k
        Counter.total += k


class Slotted:
    __slots__ = ("n",)

    def __init__(self):
        self.n = 0

    def add(self):
        self.n += 1


@dataclasses.dataclass
class Record:
    n: int = 0
    values: list = dataclasses.field(default_factory=list)


def count_globally():
    STATE["n"] += 1


def case(make):
    """Registers a case. `make` returns a new function, and optionally a function that reads the state."""
    CASES.append(make)
    return make


@case
def object_made_inside():
    def f(x):
        counter = Counter()
        while x.sum() < 10:
            x = x + 1
            counter.add()
        return x, counter.n, Counter.total

    return f


@case
def slots():
    def f(x):
        counter = Slotted()
        while x.sum() < 10:
            x = x + 1
            counter.add()
        if x[0] > 5:
            counter.add()
        return x, counter.n

    return f


@case
def state_of_the_standard_library():
    """Objects with state in attributes, context variables that a call sets and resets, and immutable objects."""
    local, known, key, depth = threading.local(), weakref.WeakKeyDictionary(), Counter(), contextvars.ContextVar("depth", default=1)
    local.n, elapsed = 0, {"time": datetime.timedelta(seconds=1)}

    def f(x):
        local.n += 1
        known[key] = known.get(key, 0) + local.n
        elapsed["time"] *= 2
        depth.set(depth.get() + 1)
        token = depth.set(depth.get() + 1)
        y = x * known[key] * depth.get() + elapsed["time"].total_seconds()
        depth.reset(token)
        return y

    return f, lambda: (local.n, known[key], elapsed["time"].total_seconds(), depth.get())


@case
def nonlocal_of_a_helper():
    def f(x):
        n = 0

        def add():
            nonlocal n
            n += 1

        while x.sum() < 10:
            x = x + 1
            add()
        return x, n

    return f


@case
def dictionary_in_a_helper():
    def add(d):
        d["n"] += 1

    def f(x):
        d, special = {"n": 0}, collections.Counter(n=1)
        while x.sum() < 10:
            x = x + 1
            add(d)
            add(special)
        return x, d["n"], special["n"]

    return f


@case
def object_in_a_list():
    def f(x):
        items = []
        items.append(Counter())
        while x.sum() < 10:
            x = x + 1
            items[0].add()
        return x, items[0].n

    return f


@case
def partial_and_closure():
    def f(x):
        counter = Counter()
        add = functools.partial(Counter.add, counter, 2)

        def make():
            n = 0

            def step():
                nonlocal n
                n += 1
                add()
                return n

            return step

        step = make()
        while x.sum() < 10:
            x = x + step()
        return x, step(), counter.n

    return f


@case
def setattr_and_properties():
    class Box:
        def __init__(self):
            self._n = 0

        @property
        def n(self):
            return self._n

        @n.setter
        def n(self, value):
            self._n = value

    def f(x):
        box = Box()
        while x.sum() < 10:
            x = x + 1
            box.n = box.n + 1
            setattr(box, "_n", getattr(box, "_n") + 1)
        return x, box.n

    return f


@case
def dataclass():
    def add(record, x):
        record.n += 1
        record.values.append(x)

    def f(x):
        record = Record()
        while x.sum() < 10:
            x = x + 1
            add(record, x)
        return x, record.n, len(record.values)

    return f


@case
def global_state():
    def f(x):
        while x.sum() < 10:
            x = x + 1
            count_globally()
        return x + STATE["n"]

    return f, lambda: dict(STATE)


@case
def class_attributes():
    class Config:
        n, items = 0, []

    def f(x):
        Config.n += 1
        Config.items.append(1)
        while x.sum() < 10:
            x = x + 1
            Config.n += 1
        return x * Config.n + len(Config.items)

    return f, lambda: (Config.n, list(Config.items))


@case
def module_attributes():
    module = types.ModuleType("state")
    module.n = 0

    def f(x):
        module.n += 1
        return x + module.n

    return f, lambda: module.n


@case
def attributes_of_functions():
    def helper(x):
        helper.calls += 1
        return x * helper.calls

    helper.calls = 0

    def f(x):
        return helper(x)

    return f, lambda: helper.calls


@case
def mutable_defaults():
    def helper(key, cache={}):
        cache[key] = cache.get(key, 0) + 1
        return cache[key]

    def f(x, seen=[]):
        seen.append(1)
        return x + len(seen) + helper("a")

    return f


@case
def set_from_outside():
    seen = set()

    def f(x):
        seen.add(len(seen))
        return x + len(seen)

    return f, lambda: sorted(seen)


@case
def deque_of_the_last_values():
    last = collections.deque(maxlen=2)

    def f(x):
        last.append(x * 2)
        return sum(last)

    return f, lambda: list(last)


@case
def full_deque_in_a_loop():
    def f(x):
        last = collections.deque([x, x, x], maxlen=3)
        while x.sum() < 20:
            x = x + 1
            last.append(x)
        return sum(last)

    return f


@case
def contents_of_an_array():
    array = np.zeros(3)

    def f(x):
        array[0] += 1
        return x + array[0]

    return f, lambda: array.tolist()


@case
def lists_with_two_names():
    counter = Counter()
    log = counter.log

    def f(x):
        alias = counter.log
        while x.sum() < 10:
            x = x + 1
            alias.append(x.sum())
        if x[0] > 6:
            log.append(x[0])
        return x, len(counter.log)

    return f, lambda: list(log)


@case
def methods_of_lists_as_values():
    class Subject:
        def __init__(self):
            self.observers = []

    subject, seen = Subject(), []
    subject.observers.append(seen.append)

    def f(x):
        for observer in subject.observers:
            observer(x.sum())
        return x + len(seen)

    return f, lambda: list(seen)


@case
def elements_at_staged_indices():
    counts = [0, 0, 0]

    def f(x):
        i = 0
        while x.sum() < 10:
            x = x + 1
            counts[i] = counts[i] + 1
            i = (i + 1) % 3
        return x

    return f, lambda: list(counts)


@case
def cache_of_another_scope():
    cache = {}

    def f(x):
        if "k" not in cache:
            cache["k"] = x * 2
        return cache["k"] + x

    return f


@case
def iterators_in_an_unrolled_loop():
    def f(x):
        numbers, counter = iter(list(range(30))), itertools.count()

        def squares():
            for k in itertools.count():
                yield k * k

        generator = squares()
        for _ in range(20):
            x = torch.sin(x) + next(numbers) + next(counter) + next(generator)
        return x

    return f


@case
def iterator_from_outside():
    numbers = iter([1, 2, 3, 4, 5, 6])

    def f(x):
        return x + next(numbers)

    return f


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_state(make):
    def from_zero():
        Counter.total = STATE["n"] = 0
        return make()

    assert_same_state(from_zero, CALLS)


def test_appending_does_not_retrace():
    """Appending to a list changes its contents, but a function that does not read the list needs no new trace."""
    log = []

    @ag.function
    def f(x):
        log.append(x.sum())
        return x

    for k in range(5):
        f(t(k))
    assert [v.item() for v in log] == [0, 1, 2, 3, 4] and len(f.traces) == 1


@pytest.mark.parametrize("make", [torch.from_numpy, torch.as_tensor, torch.asarray])
def test_writes_to_tensors_change_the_array_that_they_share_memory_with(make):
    found = []
    for decorate in (lambda f: f, ag.function):
        array = np.ones(2, dtype="f4")

        def f(x, array=array):
            tensor = make(array)
            tensor += x
            return tensor * 2

        run = decorate(f)
        found.append(([run(t(1.0, 2.0)) for _ in range(3)], array.tolist()))
    assert_equal(*found)


@pytest.mark.parametrize("method", ["register_forward_hook", "register_forward_pre_hook"])
@pytest.mark.parametrize("kind", [torch.nn.Identity, type("Own", (torch.nn.Identity,), {"forward": lambda self, x: x * 2})])
def test_state_that_hooks_of_modules_change(method, kind):
    found = []
    for decorate in (lambda f: f, ag.function):
        layer, seen = kind(), []
        getattr(layer, method)(lambda *_, seen=seen: seen.append(1))
        run = decorate(lambda x, layer=layer: layer(x))
        found.append(([run(x) for x in CALLS], seen))
    assert_equal(*found)


def test_state_that_methods_change_through_variables_of_enclosing_functions():
    def make():
        numbers = []

        def noted(method):
            def run(*args):
                numbers.append(method.__name__)
                return method(*args)

            return run

        class Node:
            count = 0

            def __init__(self, x):
                self.number = Node.count
                Node.count += 1
                numbers.append(self.number)
                self.x = x

            @noted
            def double(self):
                return self.x * 2

            @noted
            def triple(self):
                return self.x * 3

        return lambda x: Node(x).double() + Node(x).triple() * Node(x).number, numbers, Node

    (staged, found, staged_class), (eager, expected, eager_class) = make(), make()
    staged = ag.function(staged)
    for x in CALLS:
        assert_equal(staged(x), eager(x))
        assert found == expected and staged_class.count == eager_class.count

