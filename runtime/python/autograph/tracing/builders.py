"""Builders of the values that leave a trace (`result.py`), and the forms of such values, from which Rust builds them.

A builder is a function `build(values, outside)`. `values` contains the results of the graph. `outside` maps the ids of
captures to the tensors of this run, and contains the objects that this run has built."""

import functools
import types

from ..capture.unbound import Undefined


class Slot:
    """Builds a value that is an operand."""

    __slots__ = ("index",)

    def __init__(self, index):
        self.index = index

    def __call__(self, values, outside):
        return values[self.index]


class Input:
    """Builds a tensor from outside."""

    __slots__ = ("source",)

    def __init__(self, source):
        self.source = source  # the id of its capture

    def __call__(self, values, outside):
        return outside[self.source]


class Named:
    """Builds a named tuple."""

    __slots__ = ("kind", "builders")

    def __init__(self, kind, builders):
        self.kind, self.builders = kind, builders

    def __call__(self, values, outside):
        return self.kind(*[build(values, outside) for build in self.builders])


class Instance:
    """Builds an object of a class that is written in Python, once in each run."""

    __slots__ = ("kind", "key", "attributes", "slots")

    def __init__(self, kind, key):
        self.kind, self.key = kind, key

    def __call__(self, values, outside):
        made = outside.get(self.key)
        if made is None:
            made = outside[self.key] = object.__new__(self.kind)
            if self.attributes:
                made.__dict__.update(built(self.attributes, values, outside))
            for name, item in built(self.slots, values, outside).items():
                slots_of(self.kind)[name].__set__(made, item)
        return made


class Tuple:
    """Builds a tuple."""

    __slots__ = ("builders",)

    def __init__(self, builders):
        self.builders = builders

    def __call__(self, values, outside):
        return tuple([build(values, outside) for build in self.builders])


class Container:
    """Builds a list or a dictionary, once in each run. Such a container may occur in itself."""

    __slots__ = ("kind", "key", "items")

    def __init__(self, kind, key):
        self.kind, self.key = kind, key
        self.items = []  # the builders of the items, in a dictionary with their keys

    def __call__(self, values, outside):
        made = outside.get(self.key)
        if made is None:
            made = outside[self.key] = self.kind()
            if self.kind is list:
                made += [build(values, outside) for build in self.items]
            else:
                made.update([(name, build(values, outside)) for name, build in self.items])
        return made


class Constant:
    """Builds the same object in each run."""

    __slots__ = ("value",)
    kind = "constant"

    def __init__(self, value):
        self.value = value

    def __call__(self, values, outside):
        return self.value


class Form:
    """The form of a value that is not a plain container: `input` with its index, `named` with a class of named tuples and
    forms, or `object` with a class and the forms of attributes."""

    __slots__ = ("kind", "value")

    def __init__(self, kind, value):
        self.kind, self.value = kind, value


def form_of(builder, containers, inputs):
    """Returns the form of a builder (`Result.forms`). `containers` contains the builders of objects that have a form: one that
    occurs twice has none, because its form would build two objects."""
    if isinstance(builder, Slot):
        return builder.index
    if isinstance(builder, Constant):
        return None if isinstance(builder.value, Undefined) else builder
    if isinstance(builder, Input):
        return Form("input", inputs[builder.source]) if builder.source in inputs else None
    if isinstance(builder, (Tuple, Named)):
        forms = tuple([form_of(item, containers, inputs) for item in builder.builders])
        if None in forms:
            return None
        return forms if isinstance(builder, Tuple) else Form("named", (builder.kind, list(forms)))
    if not isinstance(builder, (Container, Instance)) or any(builder is other for other in containers):
        return None
    containers.append(builder)
    if isinstance(builder, Instance):
        if builder.slots:
            return None
        forms = {name: form_of(item, containers, inputs) for name, item in builder.attributes.items()}
        return None if None in forms.values() else Form("object", (builder.kind, forms))
    if builder.kind is list:
        forms = [form_of(item, containers, inputs) for item in builder.items]
        return None if None in forms else forms
    forms = {name: form_of(item, containers, inputs) for name, item in builder.items}
    return None if None in forms.values() else forms


def built(builders, *run):
    """Returns a dictionary with the values of these builders, except for undefined ones."""
    made = {name: build(*run) for name, build in builders.items()}
    return {name: item for name, item in made.items() if not isinstance(item, Undefined)}


@functools.lru_cache(maxsize=None)
def slots_of(kind):
    return {
        name: member
        for base in reversed(kind.__mro__)
        for name, member in base.__dict__.items()
        if isinstance(member, types.MemberDescriptorType)
    }
