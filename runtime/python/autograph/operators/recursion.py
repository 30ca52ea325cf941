"""Recursion that only the graph can end: a function that is called again, under a staged condition of its own and
with arguments of the same kind, becomes a function of the graph.

A trace begins with every call inlined. Where that would not end, it is given up, and made again with the function
marked. A recursion that Python decides never comes to a call of the same kind, and stays inlined.
"""

import sys

import torch

from ..capture import scalars
from ..conversion import spans
from ..errors import StagingError
from . import regions, specs
from .graph_function import GraphFunction
from .values import List

#: So many calls of one function lie within each other, at least, before its arguments are taken for ones that never
#: repeat; so many where it is a function of the graph and numbers, texts or types are what differs.
INLINED = 24
SPECIALISED = 6


class Recursion(BaseException):
    """The trace has to be made again: calls of `code` are of a function of the graph. `widened`: the numbers that
    differ from call to call are numbers of the graph."""

    def __init__(self, code, widened):
        super().__init__(code)
        self.code = code
        self.widened = widened


class _Call:
    __slots__ = ("function", "arguments", "depth")

    def __init__(self, function, arguments, depth):
        self.function = function
        self.arguments = arguments
        self.depth = depth


def entered(staging, function, converted, args, keywords):
    """A call of a function of the user's in staged code."""
    code = function.__code__
    outer = staging.open_calls.setdefault(code, [])
    if code in staging.recursive:
        return _called(staging, outer, function, converted, (args, keywords))
    call = _Call(function, (args, keywords), staging.depth)
    below = [other for other in outer if other.depth < call.depth and _same_function(other.function, function)]
    if any(_alike(staging, other.arguments, call.arguments) for other in below):
        raise Recursion(code, False)
    if len(below) > INLINED and _stack_is_deep():
        if not _by_object(_differing(below[-1].arguments, call.arguments)):
            raise Recursion(code, True)
    outer.append(call)
    try:
        return converted(*args, **keywords)
    finally:
        outer.pop()


def _stack_is_deep():
    """Whether Python's stack would not do for many more calls."""
    frame, depth = sys._getframe(1), 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    return depth > sys.getrecursionlimit() * 0.6


def _called(staging, outer, function, converted, arguments):
    widened = staging.recursive[function.__code__]
    for called in reversed(outer):
        if _same_function(called.function, function) and called.admits(arguments, widened):
            return called.call(arguments)
    if len(outer) > SPECIALISED:
        differing = _differing(outer[-1].arguments, arguments)
        if len(outer) > INLINED or not _by_object(differing):
            if widened:
                raise _never_repeated(function, differing)
            raise Recursion(function.__code__, True)
    made = GraphFunction(staging, function, converted, arguments)
    outer.append(made)
    try:
        made.trace()
    finally:
        outer.pop()
    return made.call(arguments)


def _differing(before, after):
    """The arguments of one call and the next that are not the same: place or name -> both."""
    old, new = ({**dict(enumerate(args)), **keywords} for args, keywords in (before, after))
    return {key: (old[key], new[key]) for key in old.keys() & new.keys() if not specs.same(old[key], new[key])}


def _by_object(differing):
    """Whether Python's objects tell calls apart, as in a chain of modules: Python decides where that ends."""
    staged = (torch.Tensor, torch.SymInt, torch.SymFloat, torch.SymBool)
    simple = (bool, int, float, str, bytes, list, tuple, dict, *staged)
    return any(not isinstance(new, simple) for _, new in differing.values())


def _never_repeated(function, differing):
    names = function.__code__.co_varnames
    values = [
        f"`{names[key] if isinstance(key, int) and key < len(names) else key}` ({old!r}, then {new!r})"
        for key, (old, new) in sorted(differing.items(), key=str)
        if not isinstance(new, torch.Tensor) and not scalars.is_staged(new)
    ]
    what = f"with another {', '.join(values)}" if values else "with arguments of another kind"
    message = f"`{function.__name__}` calls itself under a staged condition, each time {what}"
    return StagingError(f"{message}: a graph has only so many functions", spans.current())


def _same_function(a, b):
    """Of the same code, over the same variables."""
    if a is b:
        return True
    cells = [[id(cell) for cell in function.__closure__ or ()] for function in (a, b)]
    return a.__code__ is b.__code__ and cells[0] == cells[1]


def _alike(staging, a, b):
    """Whether arguments are of one kind: the same but for the values of tensors and staged numbers."""
    if regions.same_object(a, b):
        return True
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return staging.value_of(a).type == staging.value_of(b).type
    if scalars.is_staged(a) and scalars.is_staged(b):
        return scalars.kind_of(a) == scalars.kind_of(b)
    if isinstance(a, List) and a.value is not None or isinstance(b, List) and b.value is not None:
        return type(a) is type(b) and a.spec == b.spec
    if type(a) is type(b) and isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(_alike(staging, x, y) for x, y in zip(a, b))
    if type(a) is type(b) is dict:
        return list(a) == list(b) and all(_alike(staging, a[key], b[key]) for key in a)
    return specs.same(a, b)
