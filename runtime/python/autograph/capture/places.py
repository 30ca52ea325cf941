"""Places: the locations where Python stores values, such as a variable or an attribute. There is a class for each kind:

    self.count     Attribute, SlotAttribute or ClassAttribute
    total          Global, or ClosureVariable for a variable of an enclosing function
    history[0]     Element of a list, tuple or dictionary
    history[:]     Items: all items of a list, deque or dictionary
    seen           Contents of an object that is not written in Python, such as a set

`state()` returns the current value of a place, or MISSING if it has none. `restore(state)` assigns an earlier value.
`key()` identifies the location: places with equal keys, even of different traces, are the same location. `reads` names the
way in which Rust reads a value (`python/src/places.rs`); with None, Rust calls `state()`.
"""

import collections
from operator import is_

MISSING = object()

#: A graph can hold the items of containers of these classes and of their subclasses.
SEQUENCES = (list, collections.deque)
MAPPINGS = (collections.OrderedDict, dict)

_HEAP_TYPE = 1 << 9  # CPython's `Py_TPFLAGS_HEAPTYPE`


def is_heap_type(kind):
    """Returns whether a class was created at run time, by a `class` statement. Only the attributes of such a class can be
    assigned."""
    return bool(kind.__flags__ & _HEAP_TYPE)


class Attribute:
    """The attribute `owner.name`, stored in the `__dict__` of the object."""

    __slots__ = ("owner", "name")
    reads = "attribute"

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

    def inherited(self):
        """Returns the value of the class attribute that a read returns if the object itself has no such attribute. Returns
        MISSING if there is none, or if a descriptor computes it."""
        return _found_in(type(self.owner).__mro__, self.name)

    def __str__(self):
        return f"{type(self.owner).__name__}.{self.name}"


def _found_in(classes, name):
    """Returns the value of an attribute in the first of these classes that has it; MISSING for a descriptor or if none has
    it."""
    for kind in classes:
        if name in kind.__dict__:
            found = kind.__dict__[name]
            return MISSING if hasattr(type(found), "__get__") else found
    return MISSING


class SlotAttribute(Attribute):
    """The attribute `owner.name`, stored in a slot."""

    __slots__ = ("slot",)
    reads = "slot"

    def __init__(self, owner, name, slot):
        super().__init__(owner, name)
        self.slot = slot

    def state(self):
        try:
            return self.slot.__get__(self.owner)
        except AttributeError:
            return MISSING

    def restore(self, state):
        if state is not MISSING:
            self.slot.__set__(self.owner, state)
        elif self.state() is not MISSING:
            self.slot.__delete__(self.owner)


class ClassAttribute(Attribute):
    """An attribute of a class."""

    __slots__ = ()
    reads = None

    def inherited(self):
        return _found_in(self.owner.__mro__[1:], self.name)

    def restore(self, state):
        if state is not MISSING:
            type.__setattr__(self.owner, self.name, state)
        elif self.state() is not MISSING:
            type.__delattr__(self.owner, self.name)

    def __str__(self):
        return f"{self.owner.__name__}.{self.name}"


class ClosureVariable:
    """A variable of an enclosing function. A variable that was unbound stays bound: `restore(MISSING)` does nothing."""

    __slots__ = ("cell", "name")
    reads = "cell"

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
    reads = "global"

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


class ContextValue:
    """The value of a `ContextVar`."""

    __slots__ = ("variable",)
    reads = None

    def __init__(self, variable):
        self.variable = variable

    def key(self):
        return id(self.variable), "value"

    def state(self):
        return self.variable.get(MISSING)

    def __str__(self):
        return self.variable.name


class Held:
    """A place whose value is always this object. It is the holder of an element: `Element(Held(table), "key")`."""

    __slots__ = ("object",)
    reads = "held"

    def __init__(self, object):
        self.object = object

    def key(self):
        return id(self.object), None

    def state(self):
        return self.object


class Element:
    """The element `container[name]` of the list, tuple or dictionary that the place `holder` contains."""

    __slots__ = ("holder", "name")
    reads = "element"

    def __init__(self, holder, name):
        self.holder = holder
        self.name = name

    def key(self):
        return *self.holder.key(), self.name

    def state(self):
        container = self.holder.state()
        if isinstance(container, dict):
            return dict.get(container, self.name, MISSING)
        return container[self.name]

    def restore(self, state):
        container = self.holder.state()
        if state is not MISSING:
            _base(container).__setitem__(container, self.name, state)
        elif isinstance(container, dict):
            delete_key(container, self.name)

    def __str__(self):
        return f"[{self.name!r}]"


class Items:
    """All items of a list, deque or dictionary. The state is a list or dictionary with the items."""

    __slots__ = ("container",)
    reads = None

    def __init__(self, container):
        self.container = container

    def key(self):
        return id(self.container), None

    def state(self):
        return items_of(self.container)

    def restore(self, state):
        container, base = self.container, _base(self.container)
        if isinstance(container, list):
            list.__setitem__(container, slice(None), list.__iter__(state) if type(state) is list else state)
            return
        if not isinstance(container, dict):
            items = list(list.__iter__(state) if type(state) is list else state)
            base.clear(container)
            base.extend(container, items)
            return
        base.clear(container)
        for key, value in state.items():
            base.__setitem__(container, key, value)

    def extend(self, items):
        _base(self.container).extend(self.container, items)

    def __str__(self):
        return f"a {type(self.container).__name__}"


def items_of(container):
    """Returns the items of a container as a list or dictionary. Methods that the class overrides are not called."""
    base = _base(container)
    if isinstance(container, dict):
        return dict(base.items(container))
    return list(base.__iter__(container))


def delete_key(dictionary, key):
    """Removes a key, if the dictionary has it. `dict.pop` would leave the key in the order of an `OrderedDict`."""
    if dict.__contains__(dictionary, key):
        _base(dictionary).__delitem__(dictionary, key)


def _base(container):
    """Returns the class in `MAPPINGS` or `SEQUENCES` from which the class of a container is derived."""
    kind = type(container)
    if kind in _BASES:
        return _BASES[kind]
    found = next(base for base in (*MAPPINGS, *SEQUENCES) if issubclass(kind, base))
    _BASES[kind] = found
    return found


_BASES = {}


def same_items(old, new):
    """Returns whether the container `new` has the same items, in the same order, as `old`. Items must be the same objects;
    keys of a dictionary may also be equal objects."""
    base = _base(new)
    if len(old) != base.__len__(new):
        return False
    if not old or not isinstance(old, dict):
        return all(map(is_, old, base.__iter__(new)))
    if not all(map(is_, old.values(), base.values(new))):
        return False
    return all(map(is_, old, base.__iter__(new))) or all(a is b or a == b for a, b in zip(old, base.__iter__(new)))


def same_items_but(old, new, changed):
    """Returns whether the container `new` has the same items, in the same order, as `old`, apart from the values of the items
    with these indexes or keys."""
    now = items_of(new)
    if len(old) != len(now) or isinstance(old, dict) and list(old) != list(now):
        return False
    pairs = old.items() if isinstance(old, dict) else enumerate(old)
    return all(now[name] is item for name, item in pairs if name not in changed)


class Contents:
    """The contents of an object whose class is not written in Python: the elements of a set or an array, the position
    of an iterator, the state of a random number generator. A graph cannot hold such contents."""

    __slots__ = ("object", "kind")
    reads = None

    def __init__(self, object, kind):
        self.object = object
        self.kind = kind

    def key(self):
        return id(self.object), None

    def state(self):
        return Snapshot(self.kind, self.kind.read(self.object))

    def restore(self, state):
        """Restores the contents, as far as the class of the object allows it."""
        self.kind.restore(self.object, state.data)

    def __str__(self):
        return self.kind.describe(self.object)


class Snapshot:
    """The contents of an object at one point in time."""

    __slots__ = ("kind", "data")

    def __init__(self, kind, data):
        self.kind = kind
        self.data = data

    def same(self, other):
        return self.kind is other.kind and self.kind.same(self.data, other.data)
