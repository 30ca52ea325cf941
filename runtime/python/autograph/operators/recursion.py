"""Recursion that ends by a staged condition. A function that calls itself below a staged condition, with arguments of the
same kind, becomes a function of the graph.

Calls are inlined at first. If inlining would not terminate, tracing starts again with the function marked as recursive.
A recursion that ends by a Python condition stays inlined, because its arguments are different Python values in each call.
"""

import sys

import torch

from ..capture import scalars
from ..capture.rows import Row
from ..conversion import spans
from ..errors import Signal, StagingError
from . import regions, specs
from .graph_function import GraphFunction
from .values import List

#: The maximum number of nested calls of a function. Beyond it, inlining is assumed not to terminate.
MAX_INLINED = 24

#: The maximum nesting depth of functions of the graph that are specialized to different numbers, strings or types. Beyond it,
#: specialization is assumed not to terminate.
MAX_SPECIALIZED = 6


class Recursion(Signal):
    """Restarts tracing, with `code` as a recursive function of the graph. If `widened`, numbers that differ between
    calls are staged."""

    def __init__(self, code, widened):
        super().__init__()
        self.code = code
        self.widened = widened


#: Functions with this attribute become functions of the graph wherever staged code calls them.
_MARK = "__ag_rep_fun__"


def mark(function):
    """Makes a function a function of the graph: no call of it is inlined."""
    setattr(function, _MARK, True)


class _Call:
    __slots__ = ("function", "arguments", "depth")

    def __init__(self, function, arguments, depth):
        self.function = function
        self.arguments = arguments
        self.depth = depth


def enter(staging, function, converted, args, keywords):
    """Calls a user function in staged code."""
    code = function.__code__
    outer = staging.open_calls.setdefault(code, [])
    if getattr(function, _MARK, False):
        staging.recursive.setdefault(code, True)
    if code in staging.recursive:
        return _called(staging, outer, function, converted, (args, keywords))
    call = _Call(function, (args, keywords), staging.depth)
    callers = [other for other in outer if other.depth < call.depth and _same_function(other.function, function)]
    if any(_of_same_kind(staging, other.arguments, call.arguments) for other in callers):
        raise Recursion(code, False)
    if len(callers) > MAX_INLINED and _stack_is_deep():
        if not _differs_in_objects(_differing(callers[-1].arguments, call.arguments)):
            raise Recursion(code, True)
    outer.append(call)
    try:
        return converted(*args, **keywords)
    finally:
        outer.pop()


def is_outermost(staging):
    """Returns whether the code that is being traced belongs to the staged function itself, not to a function that it calls."""
    return sum(map(len, staging.open_calls.values())) <= 1


def _stack_is_deep():
    """Returns whether Python's stack is close to its limit. Creates only one frame object. A walk over `f_back` would
    create an object for each frame, at each level of the recursion."""
    try:
        sys._getframe(int(sys.getrecursionlimit() * 0.6))
    except ValueError:
        return False
    return True


def _called(staging, outer, function, converted, arguments):
    """Calls a function of the graph. If the function of an outer call admits the arguments, calls this function;
    otherwise traces a new one."""
    widened = staging.recursive[function.__code__]
    for called in reversed(outer):
        if _same_function(called.function, function) and called.admits(arguments, widened):
            return called.call(arguments)
    if len(outer) > MAX_SPECIALIZED:
        differing = _differing(outer[-1].arguments, arguments)
        if len(outer) > MAX_INLINED or not _differs_in_objects(differing):
            if widened:
                raise _unbounded_error(function, differing)
            raise Recursion(function.__code__, True)
    callee = GraphFunction(staging, function, converted, arguments)
    outer.append(callee)
    try:
        callee.trace()
    finally:
        outer.pop()
    return callee.call(arguments)


def _differing(before, after):
    """Returns the arguments that differ between two calls: index or name -> (before, after)."""
    old, new = ({**dict(enumerate(args)), **keywords} for args, keywords in (before, after))
    return {key: (old[key], new[key]) for key in old.keys() & new.keys() if not specs.same(old[key], new[key])}


def _differs_in_objects(differing):
    """Returns whether two calls differ in Python objects, as in a recursion along a chain of modules. Such a recursion
    ends at the end of the chain."""
    staged = (torch.Tensor, torch.SymInt, torch.SymFloat, torch.SymBool)
    simple = (bool, int, float, str, bytes, list, tuple, dict, *staged)
    return any(not isinstance(new, simple) for _, new in differing.values())


def _unbounded_error(function, differing):
    names = function.__code__.co_varnames
    values = [
        f"`{names[key] if isinstance(key, int) and key < len(names) else key}` ({old!r}, then {new!r})"
        for key, (old, new) in sorted(differing.items(), key=str)
        if not isinstance(new, torch.Tensor) and not scalars.is_staged(new)
    ]
    what = f"with a different {', '.join(values)}" if values else "with arguments of different types"
    message = f"`{function.__name__}` calls itself under a staged condition, each time {what}"
    return StagingError(f"{message}: the graph would need infinitely many functions", spans.current())


def _same_function(a, b):
    """Returns whether two functions have the same code and the same cells."""
    if a is b:
        return True
    cells = [[id(cell) for cell in function.__closure__ or ()] for function in (a, b)]
    return a.__code__ is b.__code__ and cells[0] == cells[1]


def _of_same_kind(staging, a, b):
    """Returns whether arguments are of the same kind: equal except for the values of tensors and staged numbers."""
    if regions.same_object(a, b):
        return True
    if isinstance(a, Row) and isinstance(b, Row):
        return a._ag_kind is b._ag_kind
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return staging.value_of(a).type == staging.value_of(b).type
    if scalars.is_staged(a) and scalars.is_staged(b):
        return scalars.kind_of(a) == scalars.kind_of(b)
    if isinstance(a, List) and a.value is not None or isinstance(b, List) and b.value is not None:
        return type(a) is type(b) and a.spec == b.spec
    if type(a) is type(b) and isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(_of_same_kind(staging, x, y) for x, y in zip(a, b))
    if type(a) is type(b) is dict:
        return list(a) == list(b) and all(_of_same_kind(staging, a[key], b[key]) for key in a)
    return specs.same(a, b)
