"""Attributes that an object has on some paths only, and attributes that a class defines and an object sets later."""

import functools

import pytest
import torch

import autograph as ag
from oracle import assert_equal, t

CALLS = (t(1, 2), t(-3, 1), t(2, 2))


class Counter:
    n = 0

    def add(self):
        self.n += 1


class Holder:
    def put(self, x):
        self.h = x


class Base:
    k = 1


class Derived(Base):
    pass


def starts_from_the_class(x):
    c = Counter()
    if x.sum() > 0:
        c.add()
    i = t(0)
    while i < 2:
        c.add()
        i = i + 1
    return x * c.n, c.n


def set_in_a_loop(x):
    c, i = Holder(), t(0)
    while i < 3:
        if i > 0:
            x = x + c.h
        c.put(x * i)
        i = i + 1
    return c.h * 2, c.h


def set_in_both_branches(x):
    c = Holder()
    if x.sum() > 0:
        c.put(x)
    else:
        c.put(x * 2)
    return c.h + 1


def read_where_it_may_not_exist(x):
    c = Holder()
    if x.sum() > 0:
        c.put(x)
    return c.h * 2


def checked_with_hasattr(x):
    c = Holder()
    if x.sum() > 0:
        c.put(x * 1)
    if hasattr(c, "h"):
        x = x * 2
    return x, hasattr(c, "h"), getattr(c, "h", x * 5)




def outcome(function, x):
    try:
        return "returned", function(x)
    except AttributeError as error:
        return "raised", str(error)


@pytest.mark.parametrize(
    "function",
    [starts_from_the_class, set_in_a_loop, set_in_both_branches, read_where_it_may_not_exist, checked_with_hasattr],
)
@pytest.mark.parametrize("verify", [False, True])
def test_attributes_of_new_objects(function, verify):
    staged = ag.function(function, verify=verify)
    for x in CALLS:
        assert_equal(outcome(staged, x), outcome(function, x))
    assert "h" not in vars(Holder)


def test_objects_that_are_returned_lack_attributes_on_some_paths():
    def made(x):
        c = Holder()
        if x.sum() > 0:
            c.put(x * 1)
        return c

    staged = ag.function(made)
    for x in CALLS:
        assert_equal(vars(staged(x)), vars(made(x)))


@pytest.mark.parametrize("first", [0, 1])
def test_attributes_of_objects_from_outside(first):
    class Layer(torch.nn.Module):
        steps = 0

        def forward(self, x):
            if x.sum() > 0:
                self.steps += 1
                self.last = x * 2
                x = x + self.last
            return x * self.steps

    found = []
    for decorate in (lambda f: f, ag.function):
        layer = Layer()
        run = decorate(layer.forward)
        results = [(run(x), layer.steps, vars(layer).get("last")) for x in (*CALLS[first:], *CALLS)]
        found.append(results)
    assert_equal(*found)
    assert "last" not in vars(Layer)


@pytest.mark.parametrize("verify", [False, True])
def test_attributes_of_classes_start_from_those_of_their_bases(verify):
    def f(x):
        if x.sum() > 0:
            Derived.k += 1
        return x * Derived.k

    found = []
    for decorate in (lambda f: f, lambda f: ag.function(f, verify=verify)):
        run = decorate(f)
        results = [run(x) for x in CALLS]
        found.append((results, Base.k, Derived.k))
        if "k" in vars(Derived):
            del Derived.k
    assert_equal(*found)


@pytest.mark.parametrize("verify", [False, True])
def test_new_attributes_of_functions(verify):
    def make():
        def count():
            count.calls = getattr(count, "calls", 0) + 1
            return count.calls

        return lambda x: x * count()

    staged, eager = ag.function(make(), verify=verify), make()
    for x in CALLS:
        assert_equal(staged(x), eager(x))


def test_slots_in_shadow_mode():
    class Slotted:
        __slots__ = ("n",)

    box = Slotted()
    box.n = 1

    @ag.function(verify=True)
    def f(x):
        if x.sum() > 0:
            box.n = box.n + 1
        return x * box.n

    assert [f(x).tolist() for x in CALLS] == [[2, 4], [-6, 2], [6, 6]]


def in_the_function(layer, x):
    layer.losses.append(x.sum().item())
    layer.info["calls"] += 1
    return layer(x)


def in_a_lambda(layer, x):
    (lambda: layer.losses.append(2.0))()
    return layer(x) * len(layer.losses)


def in_a_function_of_python(layer, x):
    list(map(lambda k: layer.losses.append(k), [1.0, 2.0]))
    return layer(x)


def in_a_hook(layer, x):
    if not layer._forward_hooks:
        layer.register_forward_hook(lambda module, inputs, output: module.losses.append(output.sum().item()))
    return layer(x)


def of_an_object(layer, x):
    layer.meter.total += x.sum().item()
    layer.meter.seen.add(len(layer.meter.seen))
    return layer(x) * layer.meter.total


def of_a_part(layer, x):
    layer.part.losses.append(1.0)
    return layer(x) + len(layer.part.losses)


class Meter:
    def __init__(self):
        self.total, self.seen = 0.0, set()


@pytest.mark.parametrize("change", [in_the_function, in_a_lambda, in_a_function_of_python, in_a_hook, of_an_object, of_a_part])
def test_attributes_of_modules_of_torch(change):
    """Users set attributes on modules of torch: `layer.losses = []`."""

    def run(stage):
        torch.manual_seed(0)
        layer = torch.nn.Linear(2, 2)
        layer.part = torch.nn.ReLU()
        layer.losses, layer.info, layer.meter, layer.part.losses = [], {"calls": 0}, Meter(), []
        staged = stage(change)
        results = [staged(layer, torch.tensor([1.0, k])) for k in range(5)]
        state = layer.losses, layer.info, layer.meter.total, sorted(layer.meter.seen), layer.part.losses
        return [result.detach() for result in results], state

    found, expected = run(ag.function), run(lambda function: function)
    torch.testing.assert_close(found, expected)


def parameter_steps(p, x):
    p.steps += 1
    return p * x + p.steps


def parameter_history(p, x):
    p.history.append(x.sum().item())
    return p * x * len(p.history)


def parameter_tensor(p, x):
    p.average = 0.9 * p.average + 0.1 * x
    return p + p.average


def parameter_in_a_list(p, x):
    for q in [p]:
        setattr(q, "steps", getattr(q, "steps") + 2)
    return x + p.steps


@pytest.mark.parametrize("function", [parameter_steps, parameter_history, parameter_tensor, parameter_in_a_list])
@pytest.mark.parametrize("is_argument", [False, True])
def test_attributes_of_tensors(function, is_argument):
    """If the tensor is an argument, Python runs the calls."""

    def run(stage):
        p = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
        p.steps, p.history, p.average = 0, [], torch.zeros(2)
        if is_argument:
            staged = stage(function)
        else:
            inner = stage(lambda x: function(p, x))
            staged = lambda p, x: inner(x)  # noqa: E731
        results = [staged(p, torch.tensor([1.0, k])).detach() for k in range(5)]
        return results, p.steps, p.history, p.average.detach()

    assert_equal(run(ag.function), run(lambda function: function))


@pytest.mark.parametrize(
    "made",
    [
        lambda: torch.distributions.Normal(0.0, 1.0),
        lambda: torch.utils.data.TensorDataset(torch.ones(3, 2)),
        lambda: functools.partial(torch.add, alpha=2),
    ],
)
def test_attributes_of_objects_of_libraries(made):
    def run(stage):
        held = made()
        held.log, held.n = [], 0

        @stage
        def f(x):
            held.log.append(x.sum().item())
            held.n += 1
            return x * held.n + len(held.log)

        return [f(torch.tensor([1.0, k])) for k in range(5)], held.log, held.n

    assert_equal(run(ag.function), run(lambda function: function))
