"""Python objects that staged code changes: `self.n += 1`, `history.append(loss)`, `nonlocal total`.

What a block of converted code can reach (its closure, the globals that it names, and their attributes) is watched
from the beginning of its region. Objects created in the block are not watched.
The changes that a region makes are recorded and then undone, as for tensors. So a branch that is not taken and a loop
that is traced twice have no effect, and the changes that a trace makes are applied after the graph has run.
"""

import collections
import dis
import functools
import types
from typing import NamedTuple

import torch

from ..conversion.converter import is_converted, is_user_code

MISSING = object()
CONTAINERS = (list, dict, collections.defaultdict, collections.OrderedDict)

#: Larger containers are data, not state.
LARGEST = 1024
DEPTH = 4


# Places. The key of a place identifies it across traces.


class Attribute:
    """`owner.name`."""

    __slots__ = ("owner", "name")

    def __init__(self, owner, name):
        self.owner = owner
        self.name = name

    def key(self):
        return id(self.owner), self.name

    def state(self):
        return self.owner.__dict__.get(self.name, MISSING)

    def restore(self, state):
        if state is MISSING:
            self.owner.__dict__.pop(self.name, None)
        else:
            self.owner.__dict__[self.name] = state

    def __str__(self):
        return f"{type(self.owner).__name__}.{self.name}"


class Cell:
    """A variable of an enclosing function."""

    __slots__ = ("cell", "name")

    def __init__(self, cell, name):
        self.cell = cell
        self.name = name

    def key(self):
        return id(self.cell), self.name

    def state(self):
        try:
            return self.cell.cell_contents
        except ValueError:
            return MISSING

    def restore(self, state):
        if state is not MISSING:
            self.cell.cell_contents = state

    def __str__(self):
        return self.name


class Global:
    """A variable of a module."""

    __slots__ = ("scope", "name")

    def __init__(self, scope, name):
        self.scope = scope
        self.name = name

    def key(self):
        return id(self.scope), self.name

    def state(self):
        return self.scope.get(self.name, MISSING)

    def restore(self, state):
        if state is MISSING:
            self.scope.pop(self.name, None)
        else:
            self.scope[self.name] = state

    def __str__(self):
        return self.name


class Held:
    """A fixed object."""

    __slots__ = ("object",)

    def __init__(self, object):
        self.object = object

    def key(self):
        return id(self.object), None

    def state(self):
        return self.object


class Element:
    """`holder[name]` of a list, tuple or dictionary at a place."""

    __slots__ = ("holder", "name")

    def __init__(self, holder, name):
        self.holder = holder
        self.name = name

    def key(self):
        return *self.holder.key(), self.name

    def state(self):
        container = self.holder.state()
        return container.get(self.name, MISSING) if isinstance(container, dict) else container[self.name]

    def restore(self, state):
        self.holder.state()[self.name] = state

    def __str__(self):
        return f"[{self.name!r}]"


class Items:
    """The items of a Python list or dictionary."""

    __slots__ = ("container",)

    def __init__(self, container):
        self.container = container

    def key(self):
        return id(self.container), None

    def state(self):
        return self.container.copy()

    def restore(self, state):
        if isinstance(self.container, list):
            list.__setitem__(self.container, slice(None), list.__iter__(state) if type(state) is list else state)
        else:
            self.container.clear()
            self.container.update(state)

    def __str__(self):
        return "a list" if isinstance(self.container, list) else "a dictionary"


class Objects:
    """The objects that one trace watches."""

    def __init__(self):
        self.kept = {}  # id -> object; keeps the ids unique
        self.places = {}  # (id of the owner, name) -> place
        self.attributes = {}  # (id of the owner, name) -> place
        self.seen_code = set()
        self.arguments = set()  # ids of dictionaries among the arguments
        self.outer = set()  # keys of places that are reachable from outside the function
        self.in_block = False
        self.modules = []
        self.names = set()  # names of attributes and variables in reachable code
        self.globals_read = {}  # (id of the scope, name) -> (scope, name)

    def block(self, body):
        """Watches what a block of converted code can reach. Its variables are part of the state of its statement."""
        self.in_block = True
        try:
            self._names(body, 0)
            for cell in getattr(body, "__closure__", None) or ():
                self._contents(cell, 0)
        finally:
            self.in_block = False

    def entered(self, function):
        """Watches the globals of a user function that is called."""
        self._names(function, 0)

    def _function(self, function, depth):
        """Watches what a user function can reach, including the variables of enclosing functions."""
        self._names(function, depth)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            if name != "ag__":
                self._place(Cell(cell, name), id(cell), name)
                self._contents(cell, depth)

    def _contents(self, cell, depth):
        try:
            self.watch(cell.cell_contents, depth)
        except ValueError:  # not bound yet
            pass

    def _names(self, function, depth):
        code = getattr(function, "__code__", None)
        if code is None or id(code) in self.seen_code:
            return
        self.seen_code.add(id(code))
        scope = function.__globals__
        reads = reads_of(code)
        self.names.update(reads.names)
        for name in reads.scope:
            if name in scope and not isinstance(scope[name], types.ModuleType):
                self.globals_read[id(scope), name] = scope, name
        for name in reads.names:
            if name in scope and not isinstance(scope[name], (types.ModuleType, type)):
                if not isinstance(scope[name], types.FunctionType):
                    self._place(Global(scope, name), id(scope), name)
                self.watch(scope[name], depth + 1)

    def watch_argument(self, container):
        """Watches a container among the arguments. A `List` records its own changes."""
        if isinstance(container, dict):
            self.arguments.add(id(container))
            self.kept[id(container)] = container
            self.places[(id(container), None)] = Items(container)

    def watch(self, value, depth=0):
        if id(value) in self.kept or depth > DEPTH or not _is_state(value):
            return
        self.kept[id(value)] = value
        if isinstance(value, torch.nn.Module):
            self.modules.append(value)
            if type(value).__module__.startswith("torch."):
                return
        if isinstance(value, types.FunctionType):
            self._function(value, depth)
            return
        if isinstance(value, types.MethodType):
            self.watch(value.__self__, depth)
            self.watch(value.__func__, depth)
            return
        if type(value) in CONTAINERS:
            if len(value) > LARGEST:
                return
            self._place(Items(value), id(value), None)
            inner = list(value.values()) if isinstance(value, dict) else value
        elif isinstance(value, tuple):
            inner = value if len(value) <= LARGEST else ()
        else:
            inner = list(value.__dict__.values())
            self.places[(id(value), "__dict__")] = value
            if not self.in_block:
                self.outer.add((id(value), "__dict__"))
        for element in inner:
            self.watch(element, depth + 1)

    def _place(self, place, owner, name):
        self.places.setdefault((owner, name), place)
        if not self.in_block:
            self.outer.add((owner, name))

    def names_of(self, owner):
        """The attributes of an object that the code may read: those that it names, and those named by methods of the
        class that Python calls implicitly."""
        kind = type(owner)
        if isinstance(owner, torch.optim.Optimizer):
            return {*owner.__dict__}
        return self.names.union(*(reads_of(code).names for code in _called_by_python(kind)))

    def numbers(self, places):
        """The places that hold a Python number and that the code can reach."""
        return [
            place for place in places if self._reaches(place) and type(_state_or_missing(place)) in (bool, int, float)
        ]

    def _reaches(self, place):
        if isinstance(place, Element):
            return type(_state_or_missing(place.holder)) is not tuple and self._reaches(place.holder)
        key = place.key()
        return key in self.places or key[0] in self.kept

    def snapshot(self):
        """The state of everything that is watched, by key."""
        states = {}
        for key, place in self.places.items():
            if key[1] == "__dict__":
                states[key] = dict(place.__dict__)
            else:
                states[key] = place.state()
        return states

    def changed(self, before):
        """The places whose state differs from a snapshot, with the state in the snapshot."""
        found = {}
        for key, old in before.items():
            place = self.places[key]
            if key[1] == "__dict__":
                new = place.__dict__
                if len(old) == len(new) and all(old.get(name, MISSING) is value for name, value in new.items()):
                    continue
                for name in {**old, **new}:
                    state = old.get(name, MISSING)
                    if new.get(name, MISSING) is not state:
                        found[self._attribute(place, name)] = state
            elif isinstance(place, Items):
                if not same_items(old, place.container):
                    found[place] = old
            elif place.state() is not old:
                found[place] = old
        return found

    def changed_outside(self, before):
        """The changed places that are not in arguments."""
        changed = self.changed(before)
        return {place: state for place, state in changed.items() if place.key()[0] not in self.arguments}

    def _attribute(self, owner, name):
        return self.attributes.setdefault((id(owner), name), Attribute(owner, name))


class Reads(NamedTuple):
    """The names in a code object and in those nested in it: all names, and names of globals."""

    names: frozenset
    scope: frozenset


@functools.lru_cache(maxsize=None)
def reads_of(code):
    names, scope = set(code.co_names), set()
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            scope.add(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner = reads_of(constant)
            names |= inner.names
            scope |= inner.scope
        elif isinstance(constant, str) and constant.isidentifier():  # getattr(self, "rate")
            names.add(constant)
    return Reads(frozenset(names), frozenset(scope))


@functools.lru_cache(maxsize=None)
def _called_by_python(kind):
    """The code of properties and special methods of a class."""
    found = []
    for base in kind.__mro__:
        if base.__module__.partition(".")[0] in _LIBRARIES:
            continue
        for name, member in base.__dict__.items():
            if isinstance(member, (property, functools.cached_property)):
                functions = [getattr(member, "fget", None) or getattr(member, "func", None)]
            else:
                functions = [member] if name.startswith("__") and name not in _NOT_IN_RUNS else []
            found += [f.__code__ for f in functions if isinstance(f, types.FunctionType)]
    return found


_NOT_IN_RUNS = ("__init__", "__new__", "__init_subclass__", "__repr__", "__del__", "__getstate__", "__setstate__")
_LIBRARIES = ("torch", "numpy", "builtins", "autograph")


def _state_or_missing(place):
    try:
        return place.state()
    except (LookupError, TypeError):
        return MISSING


def same_items(old, new):
    if len(old) != len(new):
        return False
    if isinstance(old, dict):
        return all(new.get(key, MISSING) is value for key, value in old.items())
    return all(a is b for a, b in zip(old, list.__iter__(new)))


def _is_state(value):
    """Whether a value is mutable state: a container, or an object of a user's class."""
    if type(value) in CONTAINERS or type(value) is tuple or isinstance(value, torch.optim.Optimizer):
        return True
    if isinstance(value, types.MethodType):
        return True
    if isinstance(value, types.FunctionType):
        return is_converted(value) or is_user_code(value)
    if isinstance(value, (torch.Tensor, types.ModuleType, type)):
        return False
    if not hasattr(value, "__dict__"):
        return False
    return isinstance(value, torch.nn.Module) or type(value).__module__.partition(".")[0] not in _LIBRARIES
