"""Finds the first difference between the values that a graph and eager Python have computed."""

import collections
import math
import re
import sys
import types

import torch

from .._runtime import Callable
from ..conversion.converter import is_cache

#: The relative and the absolute tolerance for Python numbers. They are those of `float32`, because such numbers often come from
#: tensors.
TOLERANCE = 1.3e-6, 1e-5
_NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?")
_HISTORY = re.compile(r",\s+(grad_fn=<\w*>|requires_grad=True)")
_OPAQUE = (Callable, type, types.ModuleType, types.CodeType, types.BuiltinFunctionType)


class Difference(Exception):
    """Two values differ. `path` is the location of the value, such as `result[0]['x']`."""

    def __init__(self, path, text):
        super().__init__(f"{path}: {text}")
        self.path = path


class Comparison:
    """Compares values of the graph with values of eager Python. Each object of the graph must correspond to one object of
    eager Python. `originals` correspond to their copies in `memo`."""

    def __init__(self, originals, memo):
        self._to_eager = {id(original): id(memo[id(original)]) for original in originals if id(original) in memo}
        self._to_graph = {eager: graph for graph, eager in self._to_eager.items()}
        self._done = set()
        self._kept = []

    def compare(self, graph, eager, path):
        """Raises the first `Difference` between two values."""
        todo = collections.deque([(graph, eager, path)])
        while todo:
            graph, eager, path = todo.popleft()
            eager = _waited(eager)
            if graph is eager or (id(graph), id(eager)) in self._done:
                continue
            if type(graph) is not type(eager):
                raise Difference(path, f"a `{_name(graph)}` instead of a `{_name(eager)}`{_values(graph, eager)}")
            if isinstance(graph, float | complex | int | str | bytes) and type(graph).__module__ == "builtins":
                self._plain(graph, eager, path)
                continue
            self._done.add((id(graph), id(eager)))
            self._kept.append((graph, eager))
            todo.extend(self._parts(graph, eager, path))

    def _plain(self, graph, eager, path):
        if isinstance(graph, float | complex):
            equal = _close(graph, eager)
        else:
            equal = graph == eager
        if not equal:
            raise Difference(path, f"{graph!r} instead of {eager!r}")

    def _parts(self, graph, eager, path):
        """Compares two values of the same class, and yields pairs of their parts, which the caller compares."""
        if isinstance(graph, _OPAQUE):
            return
        if isinstance(graph, torch.Tensor):
            self._same_object(graph, eager, path)
            yield from _tensors(graph, eager, path)
        elif isinstance(graph, types.FunctionType):
            yield from _cells(graph, eager, path)
        elif isinstance(graph, types.MethodType):
            yield graph.__self__, eager.__self__, f"{path}.__self__"
            yield graph.__func__, eager.__func__, path
        elif isinstance(graph, tuple):
            yield from _items(graph, eager, path)
        elif isinstance(graph, torch.Generator):
            yield graph.get_state(), eager.get_state(), f"the state of {path}"
        elif isinstance(graph, set | frozenset):
            if len(graph) != len(eager):
                raise Difference(path, f"{len(graph)} elements instead of {len(eager)}: {graph!r} and {eager!r}")
            if all(isinstance(item, str | bytes | int | float | type(None)) for item in graph) and graph != eager:
                raise Difference(path, f"{graph!r} instead of {eager!r}")
        else:
            self._same_object(graph, eager, path)
            if isinstance(graph, list | collections.deque):
                yield from _items(graph, eager, path)
            elif isinstance(graph, dict):
                yield from _entries(graph, eager, path)
            yield from _attributes(graph, eager, path)

    def _same_object(self, graph, eager, path):
        """Checks that two places hold the same object if and only if they do so in eager Python. Two places may also hold
        copies of one tensor, because a staged branch that selects one of two tensors returns a copy."""
        known = self._to_eager.setdefault(id(graph), id(eager))
        if known != id(eager):
            raise Difference(path, "one object in two places, where eager Python has two")
        known = self._to_graph.setdefault(id(eager), id(graph))
        if known != id(graph) and not isinstance(graph, torch.Tensor):
            raise Difference(path, "two objects where eager Python has one in two places")


def _waited(value):
    """Returns the plain tensor for a result of a functional collective: in eager Python, such a result is a wrapper
    that waits when it is used. All other values are returned unchanged."""
    module = sys.modules.get("torch.distributed._functional_collectives")
    return value.wait() if module is not None and isinstance(value, module.AsyncCollectiveTensor) else value


def _tensors(graph, eager, path):
    """Compares two tensors. Yields their gradients for comparison."""
    for what in ("dtype", "shape", "device", "layout", "requires_grad"):
        a, b = getattr(graph, what), getattr(eager, what)
        if a != b:
            raise Difference(path, f"{what} {a} instead of {b}")
    if graph.device.type == "meta" or graph.is_quantized or graph.is_nested:
        return
    try:
        with torch.inference_mode(False), torch.no_grad():
            torch.testing.assert_close(graph.detach(), eager.detach(), equal_nan=True)
    except AssertionError as error:
        detail = " ".join(str(error).split("\n\n", 1)[-1].split())
        raise Difference(path, f"{_text(graph)} instead of {_text(eager)} ({detail})") from None
    if graph.is_leaf and eager.is_leaf:
        yield graph.grad, eager.grad, f"{path}.grad"


def _items(graph, eager, path):
    if len(graph) != len(eager):
        raise Difference(path, f"{len(graph)} elements instead of {len(eager)}")
    for index, (a, b) in enumerate(zip(graph, eager)):
        yield a, b, f"{path}[{index}]"


def _entries(graph, eager, path):
    if len(graph) != len(eager):
        raise Difference(path, f"the keys {_keys(graph)} instead of {_keys(eager)}")
    for key, other in zip(graph, eager):
        plain = isinstance(key, str | bytes | int | float | bool | type(None))
        if plain and (type(key) is not type(other) or key != other):
            raise Difference(path, f"the key {key!r} instead of {other!r}")
        name = f"[{key!r}]" if plain else f"[a {_name(key)}]"
        if not plain:
            yield key, other, f"a key of {path}"
        yield graph[key], eager[other], f"{path}{name}"


def _attributes(graph, eager, path):
    """Yields the attributes of two objects for comparison."""
    first, second = (getattr(value, "__dict__", None) for value in (graph, eager))
    if isinstance(first, dict):
        for name in [*first, *(name for name in second if name not in first)]:
            if name not in first or name not in second:
                text = "does not exist" if name not in first else "exists, but not in eager Python"
                raise Difference(f"{path}.{name}", text)
            if not name.startswith("__"):
                yield first[name], second[name], f"{path}.{name}"
    for kind in type(graph).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            a, b = (getattr(value, name, None) for value in (graph, eager))
            yield a, b, f"{path}.{name}"
    if first is None and not isinstance(graph, list | dict | collections.deque):
        yield from _reduced(graph, eager, path)


def _reduced(graph, eager, path):
    """Compares the states of two objects whose class is written in C, such as iterators and arrays."""
    try:
        first, second = graph.__reduce_ex__(4), eager.__reduce_ex__(4)
    except Exception:  # any exception means that the state cannot be read
        return
    if isinstance(first, str) or isinstance(second, str):
        return
    for a, b in zip(first[1:3], second[1:3]):
        if type(a).__module__ == type(b).__module__ == "builtins":
            yield a, b, f"the state of {path}"


def _cells(graph, eager, path):
    first, second = (
        dict(zip(function.__code__.co_freevars, function.__closure__ or ())) for function in (graph, eager)
    )
    for name in first.keys() & second.keys():
        if is_cache(graph, name):
            continue
        try:
            yield first[name].cell_contents, second[name].cell_contents, f"`{name}` of {path}"
        except ValueError:
            continue


def texts(graph, eager):
    """Returns whether two printed texts are equal, except for rounding errors in numbers. The tensors that a graph prints have
    no history."""
    eager = _HISTORY.sub("", eager)
    graph = _HISTORY.sub("", graph)
    if graph == eager:
        return True
    if _NUMBER.sub("#", graph) != _NUMBER.sub("#", eager):
        return False
    pairs = zip(_NUMBER.findall(graph), _NUMBER.findall(eager))
    return all(a == b or not (a.isdigit() and b.isdigit()) and _printed_close(a, b) for a, b in pairs)


def _printed_close(a, b):
    """Returns whether two printed numbers differ at most by one in the last digit, because they were rounded for printing."""
    digits = min(len(text.lower().partition("e")[0].partition(".")[2]) for text in (a, b))
    return math.isclose(float(a), float(b), rel_tol=1e-3, abs_tol=1.01 * 10**-digits)


def _close(a, b):
    if a == b or a != a and b != b:
        return True
    relative, absolute = TOLERANCE
    return abs(a - b) <= absolute + relative * abs(b)


def _name(value):
    return type(value).__name__


def _values(graph, eager):
    shown = [repr(v) for v in (graph, eager) if isinstance(v, bool | int | float | str | type(None))]
    return f": {' and '.join(shown)}" if shown else ""


def _keys(mapping):
    return "[" + ", ".join(map(repr, list(mapping)[:8])) + (", …]" if len(mapping) > 8 else "]")


def _text(tensor):
    if tensor.numel() <= 8:
        return f"{tensor.detach().tolist()}"
    return f"a tensor of shape {list(tensor.shape)}"
