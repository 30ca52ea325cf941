"""Iterables of a staged `for`: each has a length and indexed elements, which may be staged."""

import torch

from ..capture import scalars
from ..capture.staging import current, is_staged, is_staged_tensor
from ..conversion import spans
from ..errors import StagingError
from ..record.ops import MAX, MIN
from ..record.types import FLOAT
from .values import List


class Iterable:
    """The base class. Python can iterate over such an object if its length is known for the arguments of this call."""

    def __iter__(self):
        return map(self.at, _decided(self.bounds()))


def _decided(bounds):
    """Returns the Python `range` with these bounds, which are decided for the arguments of this call."""
    known = [current().decided_number(bound) if is_staged(bound) else bound for bound in bounds]
    if None in known:
        raise StagingError("the number of elements is only known when the graph runs", spans.current())
    return range(*known)


def _in_python(name):
    """Returns a method of `range` that decides the bounds for the arguments of this call."""
    method = getattr(range, name)

    def decided(self, *args):
        others = (_decided(arg.bounds()) if isinstance(arg, Range) else arg for arg in args)
        return method(_decided(self.bounds()), *others)

    return decided


class Range(Iterable):
    """`range` of staged numbers."""

    def __init__(self, *bounds):
        staging = current()
        numbers = [staging.item(b) if isinstance(b, torch.Tensor) else b for b in bounds]
        if len(numbers) == 1:
            numbers = [0, numbers[0]]
        self.start, self.stop, self.step = numbers if len(numbers) == 3 else (*numbers, 1)
        for number in numbers:
            if scalars.kind_of(number) == FLOAT:
                raise TypeError("'float' object cannot be interpreted as an integer")

    def at(self, i):
        return i

    def bounds(self):
        return self.start, self.stop, self.step

    def length(self):
        staging = current()
        if type(self.step) is int and self.step == 1:
            count = self.stop - self.start
        else:
            count = 0 - (self.start - self.stop) // self.step  # rounded up, for steps of both signs
        return scalars.apply(staging, MAX, count, 0)


for _name in ("__getitem__", "__len__", "__contains__", "__eq__", "__hash__", "__repr__", "index", "count"):
    setattr(Range, _name, _in_python(_name))


class Rows(Iterable):
    """The rows of a tensor."""

    def __init__(self, tensor):
        if tensor.dim() == 0:
            raise TypeError("iteration over a 0-d tensor")
        self.tensor = tensor

    def at(self, i):
        return self.tensor[i]

    def bounds(self):
        return 0, self.length(), 1

    def length(self):
        return self.tensor.shape[0]


class Items(Iterable):
    """A list."""

    def __init__(self, items):
        self.items = items if isinstance(items, List) else List(items)

    def at(self, i):
        return self.items[i]

    def bounds(self):
        return 0, self.length(), 1

    def length(self):
        return self.items.length()


class Numbers(Iterable):
    """A Python `range` as an operand of `zip` or `enumerate`."""

    def __init__(self, numbers):
        self.numbers = numbers

    def at(self, i):
        return self.numbers.start + i * self.numbers.step

    def bounds(self):
        return 0, len(self.numbers), 1

    def length(self):
        return len(self.numbers)


class Enumerate(Iterable):
    def __init__(self, inner, start):
        self.inner = inner
        self.start = start

    def at(self, i):
        return self.start + i, self.inner.at(_position(self.inner, i))

    def bounds(self):
        return 0, self.inner.length(), 1

    def length(self):
        return self.inner.length()


class Zip(Iterable):
    def __init__(self, inner):
        self.inner = inner

    def at(self, i):
        return tuple(part.at(_position(part, i)) for part in self.inner)

    def bounds(self):
        return 0, self.length(), 1

    def length(self):
        lengths = [part.length() for part in self.inner]
        shortest = lengths[0]
        for length in lengths[1:]:
            if type(shortest) is int and type(length) is int:
                shortest = min(shortest, length)
            else:
                shortest = scalars.apply(current(), MIN, shortest, length)
        return shortest


class Reversed(Iterable):
    def __init__(self, inner):
        self.inner = inner

    def at(self, i):
        return self.inner.at(_position(self.inner, self.length() - 1 - i))

    def bounds(self):
        return 0, self.length(), 1

    def length(self):
        return self.inner.length()


def lists_of(values):
    """Returns the lists that an iterable takes its elements from."""
    if isinstance(values, Items):
        return [values.items]
    inner = getattr(values, "inner", ())
    parts = inner if isinstance(inner, list) else [inner]
    return [items for part in parts if isinstance(part, Iterable) for items in lists_of(part)]


def _position(inner, i):
    """Returns the argument of `inner.at` for the element with index `i`. A `Range` takes the number itself."""
    return inner.start + i * inner.step if isinstance(inner, Range) else i


def is_staged_iterable(value):
    return isinstance(value, Iterable) or is_staged_tensor(value) or isinstance(value, List) and value.value is not None


def iterable(value):
    """Returns the value as an iterable of a staged loop; None if it can only be iterated in Python."""
    if isinstance(value, Iterable):
        return value
    if is_staged_tensor(value):
        return Rows(value)
    if isinstance(value, torch.Tensor) and current() is not None:
        return Rows(value)
    if isinstance(value, List):
        return Items(value)
    if type(value) is range:
        return Numbers(value)
    return None


def range_(*bounds):
    if not any(map(is_staged, bounds)):
        return range(*bounds)
    return Range(*bounds)


def enumerate_(values, start=0):
    if not is_staged(start) and not is_staged_iterable(values):
        return enumerate(values, start)
    inner = iterable(values)
    return Enumerate(inner, start) if inner is not None else ((start + i, value) for i, value in enumerate(values))


def zip_(*values, strict=False):
    staged = [is_staged_iterable(value) for value in values]
    if any(staged) and all(is_staged or hasattr(type(value), "__len__") for is_staged, value in zip(staged, values)):
        return Zip([iterable(v) or Items(v) for v in values])
    # Python advances an iterator, which may be endless, only as far as the shortest operand needs: `zip(x, itertools.count())`.
    values = [iterable(value) if is_staged else value for is_staged, value in zip(staged, values)]
    return zip(*values, strict=strict) if strict else zip(*values)


def reversed_(values):
    return Reversed(iterable(values)) if is_staged_iterable(values) else reversed(values)
