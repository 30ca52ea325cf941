"""The objects and functions that test programs use. They record every use as an event.

A program imports all names of `__all__`. `observed(call)` runs it and returns its observable behavior: the sequence of
events, and the result or exception.
"""

import re
import types

import ag_reference

__all__ = [
    "Bag", "Fault", "Guard", "Oops", "Probe", "Truth", "drive", "more", "note", "pause", "pick", "ticks", "traced",
]  # fmt: skip

EVENTS_AT_MOST = 400
PASSES_PER_LOOP = 5

_events = []
_passes = {}


def note(label, value=None):
    """Records an event and returns `value`."""
    if len(_events) < 2 * EVENTS_AT_MOST:
        _events.append((label, show(value)))
    return value


def more(site):
    """Returns whether the loop at `site` may continue. Guarantees termination."""
    _passes[site] = _passes.get(site, 0) + 1
    return len(_events) < EVENTS_AT_MOST and _passes[site] <= PASSES_PER_LOOP


class Oops(Exception):
    pass


class Fault(Oops):
    pass


class Truth:
    """A value that records `bool()` as an event and may raise."""

    def __init__(self, name, value):
        self.name = name
        self.value = value

    def __bool__(self):
        # The operators for `and` and `or` return an operand, so an enclosing test may call `bool()` on it again.
        if _events[-1:] != [(f"bool({self.name})", show(self.value))]:
            note(f"bool({self.name})", self.value)
        if self.value is None:
            raise Oops("no truth", self.name)
        return self.value

    def __repr__(self):
        return f"Truth({self.name!r}, {self.value!r})"


class Bag:
    """An object with attributes and items."""

    def __init__(self, **attributes):
        self.__dict__.update(attributes)

    def __repr__(self):
        return show(self)


class Probe:
    """An object whose attributes, items, comparisons and arithmetic record events."""

    def __init__(self, name, **attributes):
        self.__dict__.update(attributes, _name=name, _items={})

    def __repr__(self):
        return show(self)

    def __getattr__(self, attribute):
        note(f"{self._name}.{attribute}?")
        raise AttributeError(attribute)

    def __setattr__(self, attribute, value):
        note(f"{self._name}.{attribute} =", value)
        self.__dict__[attribute] = value

    def __delattr__(self, attribute):
        note(f"del {self._name}.{attribute}")
        if attribute not in self.__dict__:
            raise AttributeError(attribute)
        del self.__dict__[attribute]

    def __getitem__(self, key):
        note(f"{self._name}[]", key)
        return self._items.get(key, 1)

    def __setitem__(self, key, value):
        note(f"{self._name}[] =", (key, value))
        self._items[key] = value

    def __delitem__(self, key):
        note(f"del {self._name}[]", key)
        del self._items[key]

    def __contains__(self, value):
        note(f"in {self._name}", value)
        return value in self._items

    def __lt__(self, other):
        note(f"{self._name} <", other)
        return Truth(f"{self._name} <", True)

    def __gt__(self, other):
        note(f"{self._name} >", other)
        return Truth(f"{self._name} >", False)

    def __eq__(self, other):
        note(f"{self._name} ==", other)
        return Truth(f"{self._name} ==", self is other)

    __hash__ = None

    def __iadd__(self, other):
        note(f"{self._name} +=", other)
        return self

    def __iter__(self):
        note(f"iter({self._name})")
        return iter((1, 2))


class Guard:
    """A context manager that may suppress exceptions, or raise on entry or exit."""

    def __init__(self, name, swallow=False, fail=None):
        self.name = name
        self.swallow = swallow
        self.fail = fail

    def __enter__(self):
        note(f"enter {self.name}")
        if self.fail == "enter":
            raise Oops("enter", self.name)
        return len(self.name)

    def __exit__(self, kind, value, traceback):
        note(f"exit {self.name}", kind.__name__ if kind else None)
        if self.fail == "exit":
            raise Oops("exit", self.name)
        return self.swallow

    async def __aenter__(self):
        await pause(1)
        return self.__enter__()

    async def __aexit__(self, kind, value, traceback):
        await pause(2)
        return self.__exit__(kind, value, traceback)


class pause:
    """`await pause(v)` yields to the event loop once and returns `v`."""

    def __init__(self, value):
        self.value = value

    def __await__(self):
        note("pause", self.value)
        yield
        return self.value


async def ticks(n):
    for i in range(n):
        await pause(i)
        yield i


def drive(coroutine):
    """Runs a coroutine in a minimal event loop."""
    while True:
        try:
            coroutine.send(None)
        except StopIteration as stop:
            return stop.value


def pick(*args, **kwargs):
    note("pick", (args, kwargs))
    return args[0] if args else len(kwargs)


def traced(function):
    """A decorator with a side effect."""
    note("decorate", getattr(function, "__name__", None))
    return function


def show(value, depth=0):
    """Returns a representation of a value that does not depend on addresses."""
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes, range, slice, type(...))):
        return f"{value!r:.200}"
    if depth > 4:
        return "…"
    inner = depth + 1
    if isinstance(value, type):
        return f"<class {value.__name__}>"
    if isinstance(value, (list, tuple)):
        return type(value).__name__ + "(" + ", ".join(show(v, inner) for v in value) + ")"
    if isinstance(value, (set, frozenset)):
        return type(value).__name__ + "{" + ", ".join(sorted(show(v, inner) for v in value)) + "}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{show(k, inner)}: {show(v, inner)}" for k, v in value.items()) + "}"
    if isinstance(value, BaseException):
        return f"{type(value).__name__}{show(value.args, inner)}"
    if isinstance(value, types.FunctionType):
        code = value.__code__
        parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        defaults = show((value.__defaults__, value.__kwdefaults__), inner)
        return f"<function {value.__name__} {parameters} {defaults} {value.__doc__!r}>"
    if isinstance(value, types.MethodType):
        return f"<method {value.__name__}>"
    if isinstance(value, ag_reference.Undefined):
        return "<undefined value that escaped>"
    attributes = getattr(value, "__dict__", None)
    if attributes is not None and type(value).__module__ != "builtins":
        return f"{type(value).__name__}(" + ", ".join(f"{k}={show(v, inner)}" for k, v in attributes.items()) + ")"
    return f"<{type(value).__name__}>"


_QUALIFIED = re.compile(r"(\w+\.<locals>\.)+")
"""Qualified names differ, because blocks of converted code are functions."""


def _chain(error):
    """Returns an exception with its causes and contexts."""
    links, seen = [], set()
    while error is not None and id(error) not in seen and len(links) < 6:
        seen.add(id(error))
        words = _QUALIFIED.sub("", show(error))
        if isinstance(error, BaseExceptionGroup):
            words += show(error.exceptions)
        links.append(words + getattr(error, "__notes__", [""])[0])
        if error.__cause__ is not None:
            links.append("from")
            error = error.__cause__
        else:
            error = None if error.__suppress_context__ else error.__context__
    return tuple(links)


def lines(error, filename):
    """Returns the lines of `filename` in the traceback of `error`."""
    found, traceback = [], error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == filename:
            found.append(traceback.tb_lineno)
        traceback = traceback.tb_next
    return tuple(found)


def observed(call, filename):
    """Runs `call`. Returns (events, outcome, lines of the traceback)."""
    _events.clear()
    _passes.clear()
    try:
        outcome, where = ("returned", show(call())), ()
    except RecursionError:
        outcome, where = ("raised", "RecursionError"), ()
    except Exception as error:
        outcome, where = ("raised", *_chain(error)), lines(error, filename)
    return tuple(_events), outcome, where
