"""Values of staged code: lists whose items may be in the graph, and the operands that hold a value.

`spec_of` returns the spec of a value, `lower` the operands that hold it, and `build` a value from results of the graph.
They are in one module with `List`, because lists contain values and are values.
"""

import itertools
import operator
import weakref
from contextlib import contextmanager
from copy import deepcopy

import torch

from ..capture import scalars
from ..capture.rows import MaybeNone, Row, StandIn
from ..capture.staging import USED_WHILE_PAUSED, current, is_staged
from ..capture.unbound import Maybe, Undefined
from ..conversion import spans
from ..errors import StagingError
from ..record import lengths
from ..record.ops import (
    LIST_APPEND,
    LIST_CONCAT,
    LIST_FILLED,
    LIST_GET,
    LIST_INSERT,
    LIST_LEN,
    LIST_NEW,
    LIST_POP,
    LIST_SET,
    LIST_SLICE,
    TO_INT,
    TUPLE_NEW,
    of_torch,
    tuple_get,
)
from ..record.types import BOOL, INT, TensorType
from . import specs
from .copied_items import CopiedItem, mark
from .overloads import OVERLOADS

_FULL = of_torch(torch.ops.aten.full.default)


def _active(staging):
    """Returns the active trace. Raises an error if there is none: `init_scope` cannot use a list of the graph."""
    if staging is None:
        raise StagingError(USED_WHILE_PAUSED, spans.current())
    return staging


#: Name -> function of `list_loops.py`, which imports this module and adds its functions here.
LIST_LOOPS = {}


class List(list):
    """A list of converted code. While `value` is None it is an ordinary list. Otherwise its items are in the graph:
    `value` is the list, and `spec` its type."""

    __slots__ = ("value", "spec", "depth", "is_outer", "merged", "copied", "number", "__weakref__")

    #: Numbers the lists in the order in which they are created.
    numbers = itertools.count()

    def __init__(self, items=()):
        super().__init__(items)
        self.value = None
        self.spec = None
        self.is_outer = False  # whether it stands for a list from outside of the function
        self.merged = ()  # `Merged` marks (`sharing.py`): two variables hold this list on some paths only
        self.copied = ()  # `CopiedItem` marks, each with a weak reference to the copy, or None (`copied_items.py`)
        self.number = next(List.numbers)
        staging = current()
        self.depth = staging.depth if staging is not None else 0

    @classmethod
    def staged(cls, value, spec):
        result = cls()
        result.value, result.spec = value, spec
        result.depth = value.region.depth
        return result

    __hash__ = object.__hash__

    # State that a region undoes.

    def state(self):
        return self.value, self.spec, list(list.__iter__(self))

    def restore(self, state):
        self.value, self.spec, items = state
        list.__setitem__(self, slice(None), items)

    def _changing(self):
        staging = current()
        if staging is not None:
            for mark in self.merged:
                mark.refuse_change(self)
            for copied, copy in self.copied:
                if copy is None or copy() is not None:
                    copied.refuse_change(staging)
            for journal in staging.aliases.journals:
                if journal.depth > self.depth:
                    journal.note(self)
        return staging if self.value is None else _active(staging)

    # Reading.

    def __len__(self):
        if self.value is None:
            return super().__len__()
        decided = self._decided_length()
        if decided is not None:
            return decided
        message = "the length of this list is only known when the graph runs"
        help = "make a tensor of it with `torch.tensor` or `torch.stack`, or call `len` in converted code"
        raise StagingError(f"{message}\nhelp: {help}", spans.current())

    def __bool__(self):
        if self.value is None:
            return super().__len__() > 0
        decided = self._decided_length()
        if decided is not None:
            return decided > 0
        raise StagingError("whether this list is empty is only known when the graph runs", spans.current())

    def __iter__(self):
        if self.value is None:
            return super().__iter__()
        decided = self._decided_length()
        if decided is not None:
            return iter([self.at(index) for index in range(decided)])
        message = "the length of this list is only known when the graph runs; iterate over it in converted code"
        raise StagingError(message, spans.current())

    def _decided_length(self):
        """Returns the length for the arguments of the call, for code that needs it in Python. Each run checks it. Returns None
        below a staged condition and in a loop of the graph, where it is unknown."""
        return _active(current()).decided_number(self.length())

    def __getitem__(self, index):
        if self.value is None and not is_staged(index):
            return super().__getitem__(index)
        return self.at(index)

    def contains(self, item):
        """`item in self`, which may be a staged boolean."""
        return list.__contains__(self, item) if self.value is None else LIST_LOOPS["contains"](self, item)

    def count(self, item):
        return super().count(item) if self.value is None else LIST_LOOPS["count"](self, item)

    def index(self, item, *bounds):
        if self.value is not None and not bounds:
            return LIST_LOOPS["index"](self, item)
        return list.index(self.plain(), item, *bounds)

    def holds_numbers(self):
        """Returns whether this is a list of numbers in the graph."""
        return self.value is not None and isinstance(self.spec.element, specs.Number)

    def holds_tensors(self):
        """Returns whether this is a list of tensors in the graph."""
        return self.value is not None and isinstance(self.spec.element, specs.Tensor)

    def plain(self):
        """Returns the items as an ordinary list, for code that needs their number."""
        return list(iter(self)) if self.value is not None else self

    @contextmanager
    def changed_from_outside(self, f):
        """In this block, code written in C may change the list without calling its methods: `heapq.heappush(self, x)`."""
        if self.value is not None:
            name = getattr(f, "__name__", "this function")
            message = f"`{name}` needs the items of a list whose length is only known when the graph runs"
            raise StagingError(f"{message}\nhelp: collect the items in a tensor, or keep the list out of staged loops", spans.current())
        before = self.state()
        try:
            yield
        finally:  # a comparison that ends the trace leaves the change incomplete; it is undone later
            after = list(list.__iter__(self))
            if len(after) != len(before[2]) or not all(map(operator.is_, before[2], after)):
                self.restore(before)
                self._changing()
                self.restore((None, None, after))

    def length(self):
        """`len`, which may be a staged number."""
        if self.value is None:
            return super().__len__()
        staging = _active(current())
        count = lengths.known(self.value)
        if count is not None:
            return count
        memo = staging.record.region.memo
        key = (self.value, "len")
        if key not in memo:
            memo[key] = staging.emit(LIST_LEN, [self.value], [INT])[0]
        return staging.scalar(memo[key])

    def in_graph(self):
        """Returns the list as a value of the graph, and its spec."""
        staging = _active(current())
        if self.value is not None:
            return self.value, self.spec
        try:
            spec = specs.Growing(specs.element_of([spec_of(staging, v) for v in list.__iter__(self)]))
        except specs.Mismatch as mismatch:
            raise StagingError(f"a staged list cannot hold {mismatch}", spans.current()) from None
        return lower(staging, self, spec)[0], spec

    def at(self, index):
        """`self[index]`. If a list of the graph cannot hold the items, a staged index is decided for the arguments of the
        call."""
        staging = _active(current())
        if self.value is None and spans.current() in staging.decisions and not isinstance(index, slice):
            decided = staging.decided_number(number(staging, index))
            if decided is not None:
                return list.__getitem__(self, decided)
        try:
            with staging.attempt():
                value, spec = self.in_graph()
        except StagingError:
            decided = None if isinstance(index, slice) else staging.decided_number(number(staging, index))
            if decided is None:
                raise
            return list.__getitem__(self, decided)
        if isinstance(index, slice):
            bounds = [b if b is None else number(staging, b) for b in (index.start, index.stop, index.step)]
            return List.staged(staging.emit(LIST_SLICE, [value, *bounds], spec.types)[0], spec)
        if spec.element is None:
            raise IndexError("list index out of range")
        got = staging.emit(LIST_GET, [value, number(staging, index)], spec.element.types)
        item = build(staging, spec.element, iter(got))
        hold(staging, item)
        copied = CopiedItem(spans.current(), self.value is None and not staging.depth and staging.allows_decisions)
        mark(staging, item, copied)
        if self.value is None:
            reference = weakref.ref(item) if isinstance(item, (List, torch.Tensor)) else None
            for original in list.__iter__(self):
                mark(staging, original, copied, reference)
        return item

    # Changing.

    def append(self, item):
        staging = self._changing()
        if self.value is None:
            return super().append(item)
        self._adapt(staging, item)
        self.value = staging.emit(LIST_APPEND, [self.value, self._lowered(staging, item)], self.spec.types)[0]

    def _adapt(self, staging, *items):
        """Widens the element type to these items."""
        element = self.spec.element
        try:
            merged = specs.element_of([element, *(spec_of(staging, item) for item in items)])
        except specs.Mismatch as mismatch:
            raise StagingError(f"a staged list cannot hold {mismatch}", spans.current()) from None
        if merged != element:
            if element is not None and _dtype(element) != _dtype(merged):
                raise StagingError(f"a staged list cannot hold {element} and {merged}", spans.current())
            self.spec = specs.Growing(merged)
            if self.value.type.element is None:
                self.value.type = self.spec.types[0]

    def _lowered(self, staging, item):
        hold(staging, item)
        return lower(staging, item, self.spec.element)[0]

    def insert(self, index, item):
        staging = self._changing()
        if self.value is None and not is_staged(index):
            return super().insert(index, item)
        self._into_graph()
        self._adapt(staging, item)
        args = [self.value, number(staging, index), self._lowered(staging, item)]
        self.value = staging.emit(LIST_INSERT, args, self.spec.types)[0]

    def pop(self, index=-1):
        staging = self._changing()
        if self.value is None and not is_staged(index):
            return super().pop(index)
        self._into_graph()
        if self.spec.element is None:
            raise IndexError("pop from empty list")
        types = [*self.spec.types, *self.spec.element.types]
        self.value, item = staging.emit(LIST_POP, [self.value, number(staging, index)], types)
        return build(staging, self.spec.element, iter([item]))

    def remove(self, item):
        self._changing()
        if self.value is None:
            return super().remove(item)
        self.pop(self.index(item))
        return None

    def __setitem__(self, index, item):
        staging = self._changing()
        if self.value is None and not is_staged(index):
            if isinstance(item, Undefined) and not -len(self) <= index < len(self):
                return None  # `items[0]` had no value: the list is shorter, so there is nothing to restore
            return super().__setitem__(index, item)
        if isinstance(index, slice):
            raise StagingError("a slice of a staged list cannot be assigned", spans.current())
        self._into_graph()
        self._adapt(staging, item)
        args = [self.value, number(staging, index), self._lowered(staging, item)]
        self.value = staging.emit(LIST_SET, args, self.spec.types)[0]

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
        self.value = current().emit(LIST_CONCAT, [self.value, value], self.spec.types)[0]
        return None

    def __iadd__(self, items):
        self.extend(items)
        return self

    def __add__(self, other):
        result = self.copy()
        result.extend(other)
        return result

    def __radd__(self, other):
        result = List(other)
        result.extend(self)
        return result

    def __mul__(self, count):
        if self.value is None and not is_staged(count):
            return List(list.__mul__(self, count))
        if self.value is not None or list.__len__(self) != 1:
            raise StagingError("only a list of one element can be repeated by a staged number", spans.current())
        staging, item = current(), self[0]
        if item is None:
            spec, operand = specs.Growing(None), None
        else:
            spec = specs.Growing(specs.element_of([spec_of(staging, item)]))
            operand = lower(staging, item, spec.element)[0]
        return List.staged(staging.emit(LIST_FILLED, [number(staging, count), operand], spec.types)[0], spec)

    __rmul__ = __mul__

    def copy(self):
        return List(list.__iter__(self)) if self.value is None else List.staged(self.value, self.spec)

    __copy__ = copy

    def __deepcopy__(self, memo):
        if self.value is not None:
            return self.copy()
        memo[id(self)] = result = List()
        list.extend(result, [deepcopy(item, memo) for item in list.__iter__(self)])
        return result

    def __delitem__(self, index):
        if self.value is None and not is_staged(index):
            self._changing()
            return super().__delitem__(index)
        if isinstance(index, slice):
            self._delete(index)
        else:
            self.pop(index)
        return None

    def _delete(self, part):
        """`del items[n:]` and `del items[:n]`."""
        start, stop, step = part.start, part.stop, part.step
        if step is not None or start is not None and stop is not None:
            message = "this slice of a staged list cannot be deleted"
            raise StagingError(f"{message}\nhelp: delete up to one end of the list: `del items[n:]`", spans.current())
        if start is None and stop is None:
            self.clear()
        else:
            self._replace_items(self.at(slice(stop, None) if start is None else slice(None, start)))

    def clear(self):
        self._changing()
        self.value = self.spec = None
        super().clear()

    def reverse(self):
        self._replace_items(self[::-1])

    def sort(self, *, key=None, reverse=False):
        self._replace_items(OVERLOADS[sorted](self, key=key, reverse=reverse))

    def _replace_items(self, other):
        self._changing()
        if isinstance(other, List) and other.value is not None:
            self._into_graph()
            self.value, self.spec = other.value, other.spec
        else:
            self.value = self.spec = None
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


def _of_plain(name):
    method = getattr(list, name)

    def read(self, *args):
        args = [arg.plain() if isinstance(arg, List) else arg for arg in args]
        return method(self.plain(), *args)

    read.__name__ = name
    return read


setattr(List, "__imul__", _in_python("__imul__"))
for _name in ("__contains__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__repr__", "__reversed__"):
    setattr(List, _name, _of_plain(_name))


def number(staging, index):
    """Returns the operand for an index of a list. Python accepts integers, booleans, and tensors of one of them."""
    if isinstance(index, torch.Tensor):
        index = staging.item(index)
    if scalars.kind_of(index) == BOOL:
        index = scalars.apply(staging, TO_INT, index)
    elif scalars.kind_of(index) != INT:
        raise TypeError(f"list indices must be integers or slices, not {scalars.class_of(index).__name__}")
    return scalars.lower(staging, index)


def _dtype(spec):
    type = spec.types[0]
    return type.dtype if isinstance(type, TensorType) else type


def spec_of(staging, value):
    """Returns the spec of a value."""
    if isinstance(value, torch.Tensor):
        return specs.Tensor(staging.value_of(value).type)
    if scalars.is_staged(value) or isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return specs.Number(scalars.kind_of(value))
    if isinstance(value, Row):
        return specs.Row(value._ag_kind)
    if isinstance(value, MaybeNone):
        return spec_of(staging, value._ag_resolved())
    if isinstance(value, Maybe):
        return specs.Optional(spec_of(staging, value.value), value.absent)
    if isinstance(value, List):
        if value.value is not None:
            return value.spec
        return specs.Tree(list, None, tuple(spec_of(staging, v) for v in list.__iter__(value)))
    if type(value) in (list, tuple) or is_record(value):
        return specs.Tree(type(value), None, tuple(spec_of(staging, v) for v in value))
    if type(value) is dict:
        return specs.Tree(dict, tuple(value), tuple(spec_of(staging, v) for v in value.values()))
    return specs.Constant(value)


def lower(staging, value, spec):
    """Returns the operands that hold a value of this spec, computed in the current region."""
    if isinstance(spec, specs.Constant):
        return []
    if isinstance(value, MaybeNone):
        value = value._ag_resolved()
    if isinstance(spec, specs.Row):
        return [-1 if value is None else scalars.lower(staging, value._ag_row)]
    if isinstance(spec, specs.Optional):
        if specs.is_absent(value) or value is None:
            return [False] + [None] * len(spec.inner.types)
        if isinstance(value, Maybe):
            return [scalars.lower(staging, value.flag), *lower(staging, value.value, spec.inner)]
        return [True, *lower(staging, value, spec.inner)]
    if isinstance(spec, specs.Tensor):
        if isinstance(value, torch.Tensor):
            return [staging.cast(staging.value_of(value), spec.type)]
        dims = list(spec.type.dims)
        args = [dims, scalars.lower(staging, value), spec.type.dtype, None, spec.type.device, None]
        return staging.emit(_FULL, args, [spec.type])
    if isinstance(spec, specs.Number):
        operand = scalars.lower(staging, value)
        if scalars.kind_of(value) == spec.kind:
            return [operand]
        if not hasattr(operand, "type"):
            return [scalars.PYTHON_CLASSES[spec.kind](operand)]
        return staging.emit(scalars.CONVERSIONS[spec.kind], [operand], [spec.kind])
    if isinstance(spec, specs.Packed):
        return staging.emit(TUPLE_NEW, lower(staging, value, spec.tree), spec.types)
    if isinstance(spec, specs.Growing):
        if isinstance(value, List) and value.value is not None:
            if value.value.type.element is None:
                value.value.type = spec.types[0]
            return [value.value]
        items = list(list.__iter__(value) if isinstance(value, List) else value)
        hold(staging, items)
        elements = [lower(staging, item, spec.element)[0] for item in items]
        return staging.emit(LIST_NEW, elements, spec.types)
    items = value.values() if spec.kind is dict else value
    return [operand for item, child in zip(items, spec.children) for operand in lower(staging, item, child)]


def hold(staging, value):
    """Marks all tensors in a value as elements of a list of the graph."""
    if isinstance(value, StandIn):
        return
    if isinstance(value, torch.Tensor):
        staging.aliases.hold(value)
    elif isinstance(value, (list, tuple)) and not (isinstance(value, List) and value.value is not None):
        for item in list.__iter__(value) if isinstance(value, list) else value:
            hold(staging, item)
    elif isinstance(value, dict):
        hold(staging, tuple(value.values()))


def build(staging, spec, values):
    """Returns the value of a spec from an iterator of the graph's values."""
    if isinstance(spec, specs.Constant):
        return spec.value
    if isinstance(spec, specs.Optional):
        flag = next(values)
        return Maybe(build(staging, spec.inner, values), staging.scalar(flag), spec.absent)
    if isinstance(spec, (specs.Tensor, specs.Number)):
        return staging.wrap(next(values))
    if isinstance(spec, specs.Row):
        return staging.trees.node(spec.kind, staging.scalar(next(values)))
    if isinstance(spec, specs.Growing):
        return List.staged(next(values), spec)
    if isinstance(spec, specs.Packed):
        packed = next(values)
        items = enumerate(packed.type.items)
        return build(staging, spec.tree, iter([staging.emit(tuple_get(i), [packed], [t])[0] for i, t in items]))
    children = [build(staging, child, values) for child in spec.children]
    return List(children) if spec.kind is list else _of_kind(spec, children)


def unpacked(spec, value):
    """Returns the Python list for a result of the graph: its elements with their structure."""
    if isinstance(spec, specs.Growing) and isinstance(spec.element, (specs.Packed, specs.Growing)):
        return [unpacked(spec.element, item) for item in value]
    return _in_tree(spec.tree, iter(value)) if isinstance(spec, specs.Packed) else value


def _in_tree(spec, values):
    if not isinstance(spec, specs.Tree):
        return unpacked(spec, next(values))
    children = [_in_tree(child, values) for child in spec.children]
    return _of_kind(spec, children)


def _of_kind(spec, children):
    if spec.kind is dict:
        return dict(zip(spec.keys, children))
    return spec.kind(*children) if hasattr(spec.kind, "_fields") else spec.kind(children)


def is_record(value):
    """Returns whether a value is a named tuple of Python or torch."""
    return isinstance(value, tuple) and (hasattr(value, "_fields") or type(value).__module__ == "torch.return_types")
