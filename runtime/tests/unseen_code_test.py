"""Code that Python or a library calls where a trace does not see it: special methods, properties, hooks, arguments of functions
in C. The methods that such code calls may read and change state, too: `__len__` calls `self.size()`, which reads `self.items`."""

import functools
import itertools
import warnings

import pytest
import torch

import autograph as ag

CALLS = 0
SCALE = 1.0


def scaled(x):
    return x * SCALE


class Inner:
    def __init__(self):
        self.value, self.items = 1.0, []

    def put(self, x):
        self.items.append(x)


class Looked:
    def __init__(self):
        self.value = 1.0

    def __get__(self, owner, kind):
        return self.look()

    def look(self):
        return self.value


LOOKED = Looked()


class Owner:
    value = LOOKED


class State:
    def __init__(self, rate=1.0):
        self.inner, self.history, self.rate, self.entered = Inner(), [], rate, 0

    def __iadd__(self, x):
        self.record(x)
        return self

    def record(self, x):
        self.store(x)

    def store(self, x):
        self.history.append(x.sum())

    def __mul__(self, x):
        return x * self.inner.value

    def __sub__(self, x):
        self.inner.put(x)
        return x

    def __add__(self, x):
        global CALLS
        CALLS += 1
        return scaled(x)

    @property
    def scale(self):
        return self.factor()

    def factor(self):
        return self.rate

    def __len__(self):
        return self.size()

    def size(self):
        return len(self.history)

    def __iter__(self):
        for k in range(2):
            yield self.at(k)

    def at(self, k):
        return k * self.rate

    def combined(self, a, b):
        return a + b * self.factor()

    def __enter__(self):
        self.enter()

    def enter(self):
        self.entered += 1

    def __exit__(self, *_):
        self.history.append(self.entered)

    def __contains__(self, limit):
        return self.is_above(limit)

    def is_above(self, limit):
        return self.rate > limit

    def hook(self, module, inputs, output):
        self.store(output)

    def __bool__(self):
        return self.is_above(1.5)

    def __lt__(self, other):
        return self.factor() < other.factor()

    def __repr__(self):
        return self.text()

    def text(self):
        return f"rate {self.rate}"


def make():
    state, other, linear = State(), State(1.2), torch.nn.Linear(3, 1)
    linear.register_forward_hook(state.hook)
    held = {"state": state}

    def assigned_operator(x):
        held["state"] += x
        return x

    def in_context(x):
        with state:
            return x * 2

    functions = {
        "assigned operator": assigned_operator,
        "state of another object": lambda x: state * x,
        "change of another object": lambda x: state - x,
        "change of a global": lambda x: state + x,
        "property": lambda x: x * state.scale,
        "len": lambda x: x * len(state),
        "iterator": lambda x: sum(x * k for k in state),
        "reduce": lambda x: functools.reduce(state.combined, [x, x * 2, x * 3]),
        "accumulate": lambda x: list(itertools.accumulate([x, x], state.combined))[1],
        "context manager": in_context,
        "in": lambda x: x * 2 if 1.5 in state else x,
        "hook": lambda x: linear(x).sum(),
        "bool": lambda x: x * 2 if state else x,
        "less": lambda x: x * 2 if state < other else x,
        "descriptor": lambda x: x * Owner().value,
        "f-string": lambda x: (x, f"{state}"),
        "percent": lambda x: (x, "%s" % state),
    }
    return state, functions


def outcomes(stage, name):
    global CALLS, SCALE
    CALLS, SCALE, LOOKED.value = 0, 1.0, 1.0
    torch.manual_seed(0)
    state, functions = make()
    function = stage(functions[name])
    found = []
    for k in range(1, 4):
        for x in (torch.ones(3), torch.full((3,), 2.0)):
            result = function(x)
            found.append((str(result), [float(h) for h in state.history], len(state.inner.items), state.entered, CALLS))
        state.history, state.rate, state.inner.value, state.inner.items = [1.0] * k, k + 1.0, k + 2.0, []
        SCALE, LOOKED.value = k + 1.0, k + 2.0
    return found


@pytest.mark.parametrize("name", make()[1])
def test_state_that_changes_between_calls(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        ag.use_deterministic_kernels()  # they round as eager torch does
        try:
            found = outcomes(ag.function, name)
        finally:
            ag.use_deterministic_kernels(False)
    expected = outcomes(lambda f: f, name)
    assert [(_plain(text), *rest) for text, *rest in found] == [(_plain(text), *rest) for text, *rest in expected]


def _plain(text):
    """Returns a text without the `grad_fn` of tensors, which staged functions do not print."""
    return text.partition(", grad_fn")[0].rstrip(")")


def test_an_object_whose_attributes_are_computed_is_not_asked_for_those_of_methods():
    class Proxy:
        def __init__(self, module):
            self.__dict__.update(module=module, names=[])

        def __getattr__(self, name):
            self.names.append(name)
            return getattr(self.module, name)

        def __call__(self, x):
            return self.module(x)

    def run(stage):
        proxy = Proxy(torch.nn.Linear(2, 2))
        function = stage(lambda x: proxy(x) + proxy.bias)
        for _ in range(2):
            function(torch.ones(2))
        return proxy.names

    assert run(ag.function) == run(lambda f: f)
