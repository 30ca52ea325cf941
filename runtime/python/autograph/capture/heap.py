"""Finds the changes of Python state between any two points in time of a trace.

The heap has an entry for each watched object, with the last known state of the object. `sync` updates all entries, and
logs the previous states of those that have changed. A *mark* is a position in this log: the entries that are logged after
a mark have changed since the mark. Objects that a change makes reachable get their own entries.

Code seldom draws from random number generators during tracing, and comparing their states is slow. So they are compared
only at the end of a trace. If one has changed and the trace has regions, the function is traced again with `compare_all`.
"""

import types
from operator import is_
from typing import NamedTuple

from .places import MISSING, Attribute, ClassAttribute, SlotAttribute, Snapshot, same_items

_SAME = object()

#: The classes of definitions, which modules and classes contain besides their state.
DEFINITIONS = (
    types.ModuleType, types.FunctionType, types.BuiltinFunctionType, property, classmethod, staticmethod,
    types.MemberDescriptorType, type,
)  # fmt: skip


class Rewritten(Exception):
    """The code in an `init_scope` changes state that the trace has already changed."""


class Mark(NamedTuple):
    """A point in time: a position in the log, and the number of the mark."""

    position: int
    clock: int


class Entry:
    """A watched object with its last known state. `born` is the number of the last mark before the entry was added.
    `is_outer` is true if the object was reachable from outside the function when the trace began.

    Subclasses define `now`, which returns the current state, or `_SAME` if it has not changed; `children`, which returns
    the objects that the state refers to; and `differences(before, found)`, which adds the places that differ from an
    earlier state to `found`, each with its earlier state."""

    __slots__ = ("state", "born", "is_outer")

    def refresh(self):
        """Updates the state. Returns the previous state if the state has changed, otherwise `_SAME`."""
        before, now = self.state, self.now()
        if now is _SAME:
            return _SAME
        self.state = now
        return before


class Variable(Entry):
    """A global variable, or a closure cell of Python."""

    __slots__ = ("place",)

    def __init__(self, place):
        self.place = place
        self.state = place.state()

    def now(self):
        state = self.place.state()
        return _SAME if state is self.state else state

    def children(self):
        return (self.state,)

    def differences(self, before, found):
        if before is not self.state:
            found[self.place] = before


class Attributes(Entry):
    """The attributes in the `__dict__` of an object, except for the names in `hidden`."""

    __slots__ = ("owner", "hidden", "places")
    place_of = Attribute

    def __init__(self, owner, hidden=frozenset()):
        self.owner = owner
        self.hidden = hidden
        self.places = {}
        self.state = self._read()

    def _read(self):
        state = dict(self.owner.__dict__)
        for name in self.hidden & state.keys():
            del state[name]
        return state

    def now(self):
        now = self._read() if self.hidden else self.owner.__dict__
        return _SAME if self._is_same(now) else dict(now)

    def current(self):
        is_whole = not self.hidden and type(self) in (Attributes, ClassAttributes, ModuleVariables)
        return self.owner.__dict__ if is_whole else self._read()

    def _is_same(self, now):
        before = self.state
        return len(before) == len(now) and all(map(is_, before.values(), now.values())) and before.keys() == now.keys()

    def children(self):
        return self.state.values()

    def place(self, name):
        found = self.places.get(name)
        if found is None:
            found = self.places[name] = self.place_of(self.owner, name)
        return found

    def differences(self, before, found):
        now = self.state
        for name in {**before, **now}:
            state = before.get(name, MISSING)
            if now.get(name, MISSING) is not state:
                found[self.place(name)] = state


class ClassAttributes(Attributes):
    __slots__ = ()
    place_of = ClassAttribute


class ModuleVariables(Attributes):
    """The variables of a module. Modules, classes and functions that an `import` adds during tracing do not count as
    changes."""

    __slots__ = ("names",)

    def __init__(self, owner, names):
        self.names = names  # the variables that the code names; more are added when other code is found
        super().__init__(owner)

    def children(self):
        return [
            value for name, value in self.state.items() if name in self.names and not isinstance(value, DEFINITIONS)
        ]

    def differences(self, before, found):
        for name, value in self.state.items():
            if name not in before and (isinstance(value, DEFINITIONS) or name.startswith("__")):
                continue
            if before.get(name, MISSING) is not value:
                found[self.place(name)] = before.get(name, MISSING)
        for name in before.keys() - self.state.keys():
            found[self.place(name)] = before[name]


class Slots(Attributes):
    """The attributes of an object in slots."""

    __slots__ = ("slots",)

    def __init__(self, owner, slots):
        self.slots = slots
        super().__init__(owner)

    def _read(self):
        state = {}
        for name, slot in self.slots.items():
            try:
                state[name] = slot.__get__(self.owner)
            except AttributeError:
                pass
        return state

    def now(self):
        now = self._read()
        return _SAME if self._is_same(now) else now

    def place_of(self, owner, name):
        return SlotAttribute(owner, name, self.slots[name])


class Container(Entry):
    """The items of a list, deque or dictionary. If there are many (`is_data`), the objects in it are not watched."""

    __slots__ = ("place", "is_data")

    def __init__(self, place, is_data):
        self.place = place
        self.is_data = is_data
        self.state = place.state()

    def now(self):
        return _SAME if same_items(self.state, self.place.container) else self.place.state()

    def children(self):
        if self.is_data:
            return ()
        return self.state.values() if isinstance(self.state, dict) else self.state

    def differences(self, before, found):
        if not same_items(before, self.state):
            found[self.place] = before


class StagedList(Entry):
    """The items of a `List`, which records its own changes."""

    __slots__ = ("list",)

    def __init__(self, list_):
        self.list = list_
        self.state = list(list.__iter__(list_))

    def now(self):
        return _SAME if same_items(self.state, self.list) else list(list.__iter__(self.list))

    def children(self):
        return self.state

    def differences(self, before, found):
        pass


class Opaque(Entry):
    """The contents of an object that is not written in Python."""

    __slots__ = ("place",)

    def __init__(self, place):
        self.place = place
        self.state = place.state()

    def now(self):
        kind, data = self.place.kind, self.place.kind.read(self.place.object)
        return _SAME if kind.same(self.state.data, data) else Snapshot(kind, data)

    def children(self):
        return self.place.kind.children(self.place.object)

    def differences(self, before, found):
        if not before.same(self.state):
            found[self.place] = before


class Heap:
    """The entries and the log of one trace. `watch(values)` adds entries for objects."""

    def __init__(self, watch):
        self.entries = {}  # (id of the object, name) -> entry
        self.log = []  # (entry, previous state)
        self.clock = 0
        self._watch = watch
        self._slow = {}  # entries that `sync` omits; None if it compares all

    def add(self, key, entry, born, is_outer):
        entry.born, entry.is_outer = born, is_outer
        is_slow = self._slow is not None and isinstance(entry, Opaque) and entry.place.kind.is_slow
        (self._slow if is_slow else self.entries)[key] = entry

    def compare_all(self):
        """Makes `sync` compare all entries. Returns whether an entry that it has omitted until now has changed."""
        omitted, self._slow = self._slow or {}, None
        self.entries.update(omitted)
        return any(entry.now() is not _SAME for entry in omitted.values())

    def sync(self):
        """Updates all entries and logs the previous states of those that have changed."""
        for entry in list(self.entries.values()):
            before = entry.refresh()
            if before is not _SAME:
                self.log.append((entry, before))
                self._watch(entry.children())

    def adopt(self, watch):
        """Treats the changes since the last `sync` as if they had been made before the first mark. `watch(values)` adds
        entries for objects. Returns whether objects from outside have changed."""
        has_changed = False
        for entry in list(self.entries.values()):
            before = entry.refresh()
            if before is _SAME:
                continue
            is_drawn = isinstance(entry, Opaque) and entry.place.kind.is_drawn
            has_changed = has_changed or entry.born == 0 and not is_drawn
            self._rewrite(entry, before)
            watch(entry.children())
        return has_changed

    def _rewrite(self, entry, before):
        """Applies a change to the logged states too, as if it had happened before the first mark."""
        found = {}
        entry.differences(before, found)
        for index, (logged, state) in enumerate(self.log):
            if logged is not entry:
                continue
            for place, old in found.items():
                if not isinstance(entry, Attributes) or state.get(place.name, MISSING) is not old:
                    raise Rewritten(str(place))
                state = {**state, place.name: entry.state.get(place.name)}
                if place.name not in entry.state:
                    del state[place.name]
            self.log[index] = entry, state

    def mark(self):
        """Returns a mark for the current state."""
        self.sync()
        self.clock += 1
        return Mark(len(self.log), self.clock)

    def changed(self, mark):
        """Returns the places that have changed since a mark, with their state at the mark. Excludes entries that were added
        after the mark."""
        self.sync()
        first = {}
        for entry, before in self.log[mark.position :]:
            if entry.born < mark.clock:
                first.setdefault(entry, before)
        found = {}
        for entry, before in first.items():
            entry.differences(before, found)
        return found
