"""Lists that converted code makes: Python's own until staged code changes them to a length only the graph knows."""

import torch

from ..capture import scalars, spans
from ..capture.record import INT, TensorType
from ..errors import StagingError
from ..staging import current, is_staged


class List(list):
    """A list. While `value` is None its items are in it; else they are in the graph, and `spec` tells of what kind."""

    __slots__ = ("value", "spec", "depth", "__weakref__")

    def __init__(self, items=()):
        super().__init__(items)
        self.value = None
        self.spec = None
        staging = current()
        self.depth = staging.depth if staging is not None else 0

    @classmethod
    def staged(cls, value, spec):
        made = cls()
        made.value, made.spec = value, spec
        made.depth = value.region.depth
        return made

    __hash__ = object.__hash__

    # What a region undoes.

    def state(self):
        return self.value, self.spec, list(list.__iter__(self))

    def restore(self, state):
        self.value, self.spec, items = state
        list.__setitem__(self, slice(None), items)

    def _changing(self):
        staging = current()
        if staging is not None:
            for journal in staging.aliases.journals:
                if journal.depth > self.depth:
                    journal.note(self)
        return staging

    # Reading.

    def __len__(self):
        if self.value is None:
            return super().__len__()
        raise StagingError("the length of this list is only known when the graph runs", spans.current())

    def __bool__(self):
        if self.value is None:
            return super().__len__() > 0
        raise StagingError("whether this list is empty is only known when the graph runs", spans.current())

    def __iter__(self):
        if self.value is None:
            return super().__iter__()
        message = "this list has a length that only the graph knows: iterate in converted code"
        raise StagingError(message, spans.current())

    def __getitem__(self, index):
        if self.value is None and not is_staged(index):
            return super().__getitem__(index)
        return self.at(index)

    def length(self):
        """`len`, as a number of the graph if need be."""
        if self.value is None:
            return super().__len__()
        staging = current()
        memo = staging.record.region.memo
        key = (self.value, "len")
        if key not in memo:
            memo[key] = staging.emit("list.len", [self.value], [INT])[0]
        return staging.scalar(memo[key])

    def in_graph(self):
        """The list as a value of the graph, made from its items if they are in Python."""
        from . import specs

        staging = current()
        if self.value is not None:
            return self.value, self.spec
        try:
            spec = specs.Growing(specs.element_of([specs.spec_of(staging, v) for v in list.__iter__(self)]))
        except specs.Mismatch as mismatch:
            raise StagingError(f"a staged list cannot hold {mismatch}", spans.current()) from None
        return specs.lower(staging, self, spec)[0], spec

    def at(self, index):
        from . import specs

        staging = current()
        value, spec = self.in_graph()
        if isinstance(index, slice):
            bounds = [b if b is None else staging.operand(b) for b in (index.start, index.stop, index.step)]
            made = staging.emit("list.slice", [value, *bounds], spec.types)[0]
            return List.staged(made, spec)
        if spec.element is None:
            raise IndexError("list index out of range")
        got = staging.emit("list.get", [value, number(staging, index)], spec.element.types)
        item = specs.build(staging, spec.element, iter(got))
        specs.hold(staging, item)
        return item

    # Changing.

    def append(self, item):
        staging = self._changing()
        if self.value is None:
            return super().append(item)
        self._adapt(staging, item)
        self.value = staging.emit("list.append", [self.value, self._lowered(staging, item)], self.spec.types)[0]

    def _adapt(self, staging, *items):
        """Makes room for items of a type that is new to the list."""
        from . import specs

        element = self.spec.element
        try:
            merged = specs.element_of([element, *(specs.spec_of(staging, item) for item in items)])
        except specs.Mismatch as mismatch:
            raise StagingError(f"a staged list cannot hold {mismatch}", spans.current()) from None
        if merged != element:
            if element is not None and _dtype(element) != _dtype(merged):
                raise StagingError(f"a staged list cannot hold {element} and {merged}", spans.current())
            self.spec = specs.Growing(merged)
            if self.value.type.element is None:
                self.value.type.element = self.spec.types[0].element

    def _lowered(self, staging, item):
        from . import specs

        specs.hold(staging, item)
        return specs.lower(staging, item, self.spec.element)[0]

    def insert(self, index, item):
        staging = self._changing()
        if self.value is None and not is_staged(index):
            return super().insert(index, item)
        self._into_graph()
        self._adapt(staging, item)
        args = [self.value, number(staging, index), self._lowered(staging, item)]
        self.value = staging.emit("list.insert", args, self.spec.types)[0]

    def pop(self, index=-1):
        from . import specs

        staging = self._changing()
        if self.value is None and not is_staged(index):
            return super().pop(index)
        self._into_graph()
        if self.spec.element is None:
            raise IndexError("pop from empty list")
        types = [*self.spec.types, *self.spec.element.types]
        self.value, item = staging.emit("list.pop", [self.value, number(staging, index)], types)
        return specs.build(staging, self.spec.element, iter([item]))

    def __setitem__(self, index, item):
        staging = self._changing()
        if self.value is None and not is_staged(index):
            return super().__setitem__(index, item)
        if isinstance(index, slice):
            raise StagingError("a slice of a staged list cannot be assigned", spans.current())
        self._into_graph()
        self._adapt(staging, item)
        args = [self.value, number(staging, index), self._lowered(staging, item)]
        self.value = staging.emit("list.set", args, self.spec.types)[0]

    def _into_graph(self):
        if self.value is None:
            self.value, self.spec = self.in_graph()
            list.clear(self)

    def extend(self, items):
        self._changing()
        if self.value is None and not (isinstance(items, List) and items.value is not None):
            return super().extend(items)
        if not isinstance(items, List):
            for item in items:
                self.append(item)
            return None
        self._into_graph()
        value, spec = items.in_graph()
        if self.spec.element is None:
            self.spec = spec
        elif spec.element is not None and spec != self.spec:
            self._adapt(current(), *items)
        self.value = current().emit("list.concat", [self.value, value], self.spec.types)[0]
        return None

    def __iadd__(self, items):
        self.extend(items)
        return self

    def __add__(self, other):
        made = self.copy()
        made.extend(other)
        return made

    def __radd__(self, other):
        made = List(other)
        made.extend(self)
        return made

    def __mul__(self, count):
        if self.value is None and not is_staged(count):
            return List(list.__mul__(self, count))
        from . import specs

        if self.value is not None or list.__len__(self) != 1:
            raise StagingError("only a list of one element can be repeated by a staged number", spans.current())
        staging, item = current(), self[0]
        if item is None:
            spec, operand = specs.Growing(None), None
        else:
            spec = specs.Growing(specs.element_of([specs.spec_of(staging, item)]))
            operand = specs.lower(staging, item, spec.element)[0]
        return List.staged(staging.emit("list.filled", [number(staging, count), operand], spec.types)[0], spec)

    __rmul__ = __mul__

    def copy(self):
        return List(list.__iter__(self)) if self.value is None else List.staged(self.value, self.spec)

    def __delitem__(self, index):
        if self.value is None and not is_staged(index):
            self._changing()
            return super().__delitem__(index)
        self.pop(index)
        return None

    def clear(self):
        self._changing()
        self.value = self.spec = None
        super().clear()

    def reverse(self):
        self._become(self[::-1])

    def sort(self, *, key=None, reverse=False):
        from .builtins import sorted_

        self._become(sorted_(self, key=key, reverse=reverse))

    def _become(self, other):
        self._changing()
        if isinstance(other, List) and other.value is not None:
            self._into_graph()
            self.value, self.spec = other.value, other.spec
        else:
            super().__setitem__(slice(None), list(other))


def _in_python(name):
    method = getattr(list, name)

    def changed(self, *args, **kwargs):
        self._changing()
        if self.value is not None:
            raise StagingError(f"`{name}` of a staged list cannot be staged", spans.current())
        return method(self, *args, **kwargs)

    changed.__name__ = name
    return changed


for _name in ("remove", "__imul__"):
    setattr(List, _name, _in_python(_name))


def number(staging, index):
    if isinstance(index, torch.Tensor):
        index = staging.item(index)
    return scalars.lower(staging, index)


def _dtype(spec):
    type = spec.types[0]
    return type.dtype if isinstance(type, TensorType) else type


# The operators.


class ListPopOpts:
    def __init__(self, element_dtype, element_shape):
        self.element_dtype = element_dtype
        self.element_shape = element_shape


class ListStackOpts:
    def __init__(self, element_dtype, original_call):
        self.element_dtype = element_dtype
        self.original_call = original_call


class GetItemOpts:
    def __init__(self, element_dtype):
        self.element_dtype = element_dtype


def new_list(iterable=None):
    """A list display."""
    items = list(iterable) if iterable else []
    return items if current() is None else List(items)


def _in_region(target):
    """A list or dictionary that was made by Python is not changed inside of a region, but replaced: the region may
    be traced again, and its other branch must not see it."""
    staging = current()
    if staging is None or staging.depth == 0 or id(target) in staging.objects.given:
        return False
    return type(target) in (list, dict)


def list_append(list_, x):
    if _in_region(list_):
        list_ = List(list_)
    list_.append(x)
    return list_


def list_pop(list_, i, opts):
    if _in_region(list_) and type(list_) is list:
        list_ = List(list_)
    return list_, list_.pop() if i is None else list_.pop(i)


def list_stack(list_, opts):
    return opts.original_call(list_)


def get_item(target, i, opts):
    if is_staged(i) and type(target) in (list, tuple):
        return List(target).at(i)
    if is_staged(i) and type(target) is range:
        return target.start + i * target.step
    return target[i]


def set_item(target, i, x):
    if type(target) is list and is_staged(i):
        target = List(target)
    elif _in_region(target):
        target = List(target) if type(target) is list else dict(target)
    target[i] = x
    return target

