"""Attributes, items and variables that are set after a function was traced. While it was traced, they did not exist, or
existed in a class only. The next call reads the new value. Each kind of read is combined with each kind of write."""

import collections
import contextvars
import copy
import functools
import os
import types

import pytest
import torch

import autograph as ag
from oracle import t


class Plain:
    rate = 2

    def factor(self):
        return 3


class Parts(torch.nn.Module):
    rate = 2

    def factor(self):
        return 3


class Computed:
    rate = 2

    def factor(self):
        return 3

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return 5


class Slotted:
    __slots__ = ("rate", "bias")

    def __init__(self):
        self.rate = 2

    def factor(self):
        return 3


def attribute(o, x):
    return x * o.rate


def method(o, x):
    return x * o.factor()


def with_default(o, x):
    return x * getattr(o, "bias", 7)


def existence(o, x):
    return x * 2 if hasattr(o, "bias") else x


def caught(o, x):
    try:
        return x * o.bias
    except AttributeError:
        return x


def computed_name(o, x):
    name = "".join(["bi", "as"])
    return x * getattr(o, name, 7)


def computed_class_attribute(o, x):
    return x * getattr(o, "".join(["ra", "te"]))


def in_dictionary(o, x):
    return x * 3 if "bias" in getattr(o, "__dict__", ()) else x


def from_vars(o, x):
    return x * vars(o).get("bias", 7) if hasattr(o, "__dict__") else x


def of_class(o, x):
    return x * type(o).rate if isinstance(type(o).rate, int) else x


def own_method(o, x):
    return x * o.__class__.factor(o)


#: way of reading -> the name that it reads
READS = {
    attribute: "rate", method: "factor", with_default: "bias", existence: "bias", caught: "bias", computed_name: "bias",
    computed_class_attribute: "rate", in_dictionary: "bias", from_vars: "bias", of_class: "rate", own_method: "factor",
}  # fmt: skip


def on_object(o, name, value):
    if name == "factor":
        o.factor = lambda: value
    else:
        setattr(o, name, value)


def on_class(o, name, value):
    setattr(type(o), name, (lambda self: value) if name == "factor" else value)


def on_middle(o, name, value):
    setattr(type(o).__mro__[1], name, (lambda self: value) if name == "factor" else value)


def on_base(o, name, value):
    setattr(type(o).__mro__[2], name, (lambda self: value) if name == "factor" else value)


def as_property(o, name, value):
    setattr(type(o), name, (lambda self: value) if name == "factor" else property(lambda self: value))


def by_getattr(o, name, value):
    type(o).__getattr__ = lambda self, other: value


def as_parameter(o, name, value):
    if name != "factor":
        setattr(o, name, torch.nn.Parameter(torch.tensor(float(value))))


def after_removal(o, name, value):
    """Removes two attributes and sets two, so that the number of attributes stays the same."""
    for other in ("first", "last"):
        vars(o).pop(other, None) if hasattr(o, "__dict__") else None
    on_object(o, name, value)
    o.last = 0


WRITES = [on_object, on_class, on_middle, on_base, as_property, by_getattr, as_parameter, after_removal]


def new_object(kind):
    """Creates an object of a new class with two new bases."""
    middle = type("Middle", (type("Base", (kind,), {}),), {})
    o = type("Owner", (middle,), {})()
    if hasattr(o, "__dict__"):
        o.first, o.last = 1, 0
    return o


def results_of_writes(run, o, write, name):
    """Returns the results of a call before the writes and after each of them."""
    x, found = t(1, 2), []
    for value in (None, 11, 13):
        if value is not None:
            try:
                write(o, name, value)
            except (AttributeError, KeyError) as error:
                found.append(str(error))
        found.append(run(o, x).tolist())
    return found


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("kind", [Plain, Parts, Computed, Slotted])
def test_attributes(kind, read, write):
    o, other, name = new_object(kind), new_object(kind), READS[read]
    closed = ag.function(lambda _, x: read(o, x))
    assert results_of_writes(closed, o, write, name) == results_of_writes(read, other, write, name)


@pytest.mark.parametrize("read", READS)
def test_attributes_of_arguments(read):
    for write in WRITES:
        found = results_of_writes(ag.function(read), new_object(Plain), write, READS[read])
        assert found == results_of_writes(read, new_object(Plain), write, READS[read])


def by_get(d, x):
    return x * d.get("k", 2)


def by_membership(d, x):
    return x * 2 if "k" in d else x


def by_index(d, x):
    try:
        return x * d["k"]
    except KeyError:
        return x


def by_length(d, x):
    return x * len(d)


def by_loop(d, x):
    for key, value in d.items():
        x = x * value
    return x


def by_truth(d, x):
    return x * 2 if d else x


def by_copy(d, x):
    return x * {"k": 2, **d}["k"]


LOOK_UPS = [by_get, by_membership, by_index, by_length, by_loop, by_truth, by_copy]


class Holder:
    pass


def of_cell(look_up, d):
    return lambda x: look_up(d, x)


def of_object(look_up, d):
    h = Holder()
    h.d = d
    return lambda x: look_up(h.d, x)


def of_module(look_up, d):
    h = torch.nn.Module()
    h.d = d
    return lambda x: look_up(h.d, x)


def of_class_attribute(look_up, d):
    kind = type("Kind", (Holder,), {"d": d})
    return lambda x: look_up(kind.d, x)


def of_base_class(look_up, d):
    o = type("Kind", (type("Base", (Holder,), {"d": d}),), {})()
    return lambda x: look_up(o.d, x)


def of_default(look_up, d):
    def run(x, d=d):
        return look_up(d, x)

    return run


def of_nested(look_up, d):
    outer = {"a": [{"b": ({"c": [d]},)}]}
    return lambda x: look_up(outer["a"][0]["b"][0]["c"][0], x)


def of_function(look_up, d):
    def run(x):
        return look_up(run.d, x)

    run.d = d
    return run


def of_instance_dictionary(look_up, d):
    h = Holder()
    h.__dict__ = d
    return lambda x: look_up(vars(h), x)


def of_partial(look_up, d):
    return functools.partial(look_up, d)


HOLDERS = [
    of_cell, of_object, of_module, of_class_attribute, of_base_class, of_default, of_nested, of_function,
    of_instance_dictionary, of_partial,
]  # fmt: skip


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("look_up", LOOK_UPS)
def test_keys(look_up, holder):
    for kind in (dict, collections.OrderedDict, lambda: collections.defaultdict(int), lambda: {str(i): 1 for i in range(2000)}):
        if holder is of_instance_dictionary and type(kind()) is not dict:
            continue
        found = []
        for wrap in (lambda f: f, ag.function):
            d = kind()
            run = wrap(holder(look_up, d))
            found.append([run(t(1, 2)).tolist()])
            for value in (3, 5):
                d["k"] = value
                found[-1].append(run(t(1, 2)).tolist())
        assert found[0] == found[1]


def by_variable(x):
    try:
        return x * set_later
    except NameError:
        return x


def by_globals(x):
    return x * globals().get("set_later", 2)


def by_environment(x):
    return x * 2 if os.environ.get("AUTOGRAPH_SET_LATER") == "3" else x


def by_environment_getenv(x):
    return x * 2 if os.getenv("AUTOGRAPH_SET_LATER", "no") == "3" else x


def by_context(x):
    return x * CONTEXT.get(2)


def by_module_variable(x):
    return x * getattr(MODULE, "set_later", 2)


def by_builtin(x):
    return x * len((1, 2))


CONTEXT = contextvars.ContextVar("CONTEXT")
MODULE = types.ModuleType("module_of_the_test")


@pytest.mark.parametrize(
    "read",
    [by_variable, by_globals, by_environment, by_environment_getenv, by_context, by_module_variable, by_builtin],
)
def test_variables(read, monkeypatch):
    staged, x = ag.function(read), t(1, 2)
    assert staged(x).tolist() == read(x).tolist()
    monkeypatch.setitem(globals(), "set_later", 3)
    monkeypatch.setitem(globals(), "len", lambda _: 7)
    monkeypatch.setenv("AUTOGRAPH_SET_LATER", "3")
    monkeypatch.setattr(MODULE, "set_later", 3, raising=False)
    token = CONTEXT.set(3)
    try:
        assert staged(x).tolist() == read(x).tolist()
    finally:
        CONTEXT.reset(token)


def test_fields_that_only_a_library_reads():
    config = Plain()
    config.rate, config.bias = 2, 3

    def f(x):
        for value in vars(copy.copy(config)).values():
            x = x * value
        return x

    staged, x = ag.function(f), t(1, 2)
    assert staged(x).tolist() == f(x).tolist()
    config.bias = 5
    assert staged(x).tolist() == f(x).tolist()
    config.other = 7
    assert staged(x).tolist() == f(x).tolist()


def test_an_attribute_that_the_code_does_not_name_keeps_the_graph():
    o = Plain()
    staged = ag.function(lambda x: x * o.rate)
    for name in ("one", "two", "three"):
        staged(t(1, 2))
        setattr(o, name, 1)
    assert len(staged.traces) == 1
    del o.one
    o.rate = 5
    assert staged(t(1, 2)).tolist() == [5, 10]


def test_objects_without_a_dictionary_of_attributes():
    counts = collections.defaultdict(int)
    config = Plain()
    config.kind = int | None

    def f(x):
        counts["calls"] += 1
        return x * len(vars(config)) + len(str(config.kind))

    staged, x = ag.function(f), t(1, 2)
    for n in range(1, 4):
        config.__dict__[f"attribute{n}"] = n
        assert staged(x).tolist() == [n + 1 + len("int | None"), 2 * (n + 1) + len("int | None")]
        assert counts["calls"] == n
