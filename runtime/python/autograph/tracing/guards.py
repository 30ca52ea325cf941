"""Guards: the Python state that a trace depends on. A trace is valid as long as its guards hold.

A trace depends on the state that its code names: attributes, globals, variables of enclosing functions, and the contents
of the lists, tuples and dictionaries in them. It also depends on the whole state of torch's own modules, such as
`torch.nn.Linear`. Each run looks up the tensors in this state, so a tensor can be replaced by another of the same
class, dtype, shape, device, `requires_grad` and `is_leaf`."""

import os
from contextvars import ContextVar
from types import ModuleType

import torch

from .._runtime import DictGuards
from ..capture import contents
from ..capture.code_reads import LOOKED_UP, is_of_python
from ..capture.heap import Attributes, ClassAttributes, ModuleVariables, Slots
from ..capture.places import (
    MAPPINGS,
    MISSING,
    SEQUENCES,
    Attribute,
    ClosureVariable,
    Contents,
    ContextValue,
    Element,
    Global,
    Held,
    Items,
    SlotAttribute,
    Snapshot,
    items_of,
    same_items,
    same_items_but,
)
from ..capture.staging import is_staged
from ..capture.watchers import LARGEST
from ..operators.values import List
from ..record.types import is_differentiable
from .absent import Absent
from .signatures import history

_PLAIN = (bool, int, float, complex, str, bytes)
_OF_MODULES = (
    "_parameters", "_buffers", "_modules",
    "_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks",
)  # fmt: skip

#: The hooks that `register_module_forward_hook` and similar functions register.
_HOOKS_OF_ALL_MODULES = [
    getattr(torch.nn.modules.module, f"_global_{name}_hooks")
    for name in ("forward", "forward_pre", "backward", "backward_pre")
]

#: The maximum nesting depth of lists, tuples and dictionaries whose elements have guards of their own.
DEPTH = 5

#: Attributes that every module or class has.
_ALWAYS = {*torch.nn.Module().__dict__, *type("Empty", (), {}).__dict__}


class Guards:
    """The guards of one trace, in a list for each way of checking them."""

    def __init__(self, staging):
        self.staging = staging
        self.slots = []  # (dictionary, key, expected value, place)
        self.values = []  # (place, expected value)
        self.alone = []  # those of them that are not elements of containers
        self.shapes = []  # (place, type and length or keys of the container)
        self._outgrown = None  # the first of them that was violated in the last check
        self.large = []  # (items, container), of containers that are guarded as a whole
        self.partly = []  # (items, container, names), of large containers that the trace changes: names of the changed items
        self.tensors = []  # (place, tensor, its properties)
        self.same = []  # pairs of places with the same tensor
        self.numbers = []  # (place, type of the number)
        self.changed = set()  # ids of the containers that the trace changes in place
        self.others = []  # places of containers that the trace does not change in place
        self.leaves = []  # (tensor, whether it requires a gradient), of the tensors from outside that the graph uses
        self.dicts = []  # state dictionaries of modules, guarded as a whole
        self.objects = []  # objects whose class is guarded
        self.dict_guards = DictGuards([], [])
        self.absent = Absent()
        self.is_empty = False
        self._taken = set()
        self._unused = {}  # id of a tensor that the graph does not use so far -> its places

    # Adding guards.

    def read(self):
        """Adds guards for all state that the code of the trace names."""
        objects = self.staging.objects
        self.named = objects.all_names()
        for container in objects.growing_lists():
            self.skip(Items(container).key())
        self._modules(objects.modules, {key[0] for key in self._taken})
        for scope, name in objects.globals_read.values():
            self.take(Global(scope, name), scope.get(name, MISSING))
        for entry in list(objects.entries.values()):
            if not entry.is_outer:
                continue
            if isinstance(entry, Attributes):
                self._attributes(entry)
                self._absent(entry)
            elif isinstance(getattr(entry, "place", None), ClosureVariable):
                self.take(entry.place, entry.place.state())
        for scope, names in objects.scopes.values():
            self.absent.add(scope, names, None)
        if not objects.names.isdisjoint(("environ", "getenv")):
            self.large.append((items_of(os.environ._data), os.environ._data))
        for value in objects.defaults:
            if _is_structure(value):
                self._inside(value)
            elif contents.kind_of(type(value)) is not None:
                self.take(Held(value), value)

    def _attributes(self, entry):
        owner, state = entry.owner, entry.state
        if not isinstance(owner, (type, ModuleType)):
            self.objects.append(owner)
        names = self.staging.objects.names_of(owner)
        for name in names & state.keys() if isinstance(entry, (ClassAttributes, Slots)) else state:
            if name in names and not (isinstance(owner, torch.nn.Module) and name in _OF_MODULES):
                self.take(entry.place(name), state[name])

    def _absent(self, entry):
        """Adds guards that an object does not get the attributes that it lacks and that the code names."""
        owner = entry.owner
        if isinstance(owner, type) and is_of_python(owner):
            return
        if isinstance(entry, Slots):
            for name in self.named & entry.slots.keys() - entry.state.keys():
                self.take(entry.place(name), MISSING)
            return
        is_whole = self.staging.objects.is_fully_read(owner)
        guarded = {name for name in owner.__dict__ if (id(owner), name) in self._taken or name in entry.hidden}
        names = self.named | LOOKED_UP if isinstance(owner, (type, torch.nn.Module)) else self.named
        names -= {name for name in names if (id(owner), name) in self._taken}
        self.absent.add(
            owner.__dict__,
            None if is_whole else names - owner.__dict__.keys(),
            None if isinstance(entry, ModuleVariables) else guarded | _ALWAYS,
        )

    def _modules(self, modules, kept):
        """Adds guards for the state of these modules and their submodules."""
        if modules:
            self.dicts += _HOOKS_OF_ALL_MODULES
        for module in {id(m): m for root in modules for m in root.modules()}.values():
            state = module.__dict__
            self.objects.append(module)
            if type(module).__module__.startswith("torch.") and id(module) not in kept:
                self.dicts.append(state)
                for name in self.named & state.keys():
                    if isinstance(state[name], (list, dict)) and name not in _OF_MODULES:
                        self._inside(state[name])
            else:
                self.take(Attribute(module, "training"), module.training)
            for name in _OF_MODULES:
                inside = state.get(name)
                if inside is None:
                    continue
                if id(inside) not in kept:
                    self.dicts.append(inside)
                    continue
                for key, value in list(inside.items()):
                    self.take(Element(Held(inside), key), value)

    def take(self, place, value, depth=0):
        """Adds guards for this value at a place, unless the place already has a guard."""
        if place.key() not in self._taken:
            self.expect(place, value, depth)

    def expect(self, place, value, depth=0):
        """Adds guards for this value at a place. Later, a tensor may be replaced by one of the same kind. A list, tuple
        or dictionary may be replaced by one of the same form with the same elements."""
        key = place.key()
        self._taken.add(key)
        if is_staged(value):
            return
        if isinstance(value, torch.Tensor):
            self._tensor(place, value)
            return
        if isinstance(value, Snapshot):
            self.values.append((place, value))
            return
        if depth < DEPTH and _is_structure(value) and len(value) <= LARGEST:
            self._structure(place, value, depth)
            return
        if isinstance(place, (Attribute, Global)) and not isinstance(place, SlotAttribute):
            scope = place.owner.__dict__ if isinstance(place, Attribute) else place.scope
            self.slots.append((scope, place.name, value, place))
        else:
            self.values.append((place, value))
        if _is_structure(value):
            self._inside(value)
        if isinstance(value, ContextVar):
            self.take(ContextValue(value), value.get(MISSING))
        kind = contents.kind_of(type(value))
        if kind is not None and not kind.is_drawn and (id(value), None) not in self._taken:
            self.expect(Contents(value, kind), Snapshot(kind, kind.read(value)))

    def expect_number(self, place, kind):
        """Adds a guard: the place holds a number of this class. The value of the number is a parameter of the graph."""
        self._taken.add(place.key())
        self.numbers.append((place, kind))

    def expect_object(self, place, value):
        """Adds a guard: the place holds exactly this object."""
        self.values.append((place, value))

    def skip(self, key):
        """Adds no guard for this place."""
        self._taken.add(key)

    def expect_items(self, container, items, changed=None):
        """Adds guards for the items of a container that the trace changes in place. `changed` contains the indexes or
        keys of the items that it changes; None if it changes all."""
        self.changed.add(id(container))
        if changed is None or len(items) <= LARGEST:
            self._structure(Held(container), items, 0, type(container))
            return
        for name in changed:
            if not isinstance(items, dict) or name in items:
                self.take(Element(Held(container), name), items[name])
        self.partly.append((items, container, frozenset(changed)))

    def _structure(self, place, value, depth, kind=None):
        items = items_of(value) if isinstance(value, (*MAPPINGS, *SEQUENCES)) else value
        keys = list(items) if isinstance(items, dict) else range(len(items))
        if not isinstance(place, Held) and (id(value), None) in self._taken:  # the container is changed in place
            self.values.append((place, value))
            return
        self.shapes.append((place, (kind or type(value), form_of(value)[1])))
        for key in keys:
            self.take(Element(place, key), items[key], depth + 1)

    def _inside(self, container):
        """Adds guards for the items of this container object, independently of the places that hold it."""
        if (id(container), None) in self._taken:
            return
        self._taken.add((id(container), None))
        if len(container) <= LARGEST:
            self._structure(Held(container), container, 0)
        elif not isinstance(container, tuple):
            self.large.append((items_of(container), container))

    def _tensor(self, place, tensor):
        capture = self.staging.captures.get(id(tensor))
        if capture is not None and capture.path is not None:
            return
        if capture is not None and capture.place is None:
            capture.place = place
        elif capture is not None:
            self.same.append((capture.place, place))
        else:
            self._unused.setdefault(id(tensor), []).append(place)
        self.tensors.append((place, tensor, _kind(tensor)))

    def done(self):
        """Ends adding guards, and releases the state of the trace."""
        for capture in self.staging.captures.values():  # includes tensors that the function only returns
            if capture.place is None and capture.path is None and id(capture.tensor) in self._unused:
                capture.place, *others = self._unused[id(capture.tensor)]
                self.same += [(capture.place, other) for other in others]
        captures = [c for c in self.staging.captures.values() if c.path is None and isinstance(c.tensor, torch.Tensor)]
        self.leaves = [(c.tensor, c.tensor.requires_grad) for c in captures if is_differentiable(c.tensor.dtype)]
        if self.changed:
            self.others = [place for place, _ in self.shapes if not isinstance(place, Held)]
            self.others = [place for place in self.others if isinstance(place.state(), (*MAPPINGS, *SEQUENCES))]
        self.alone = [(place, value) for place, value in self.values if not isinstance(place, Element)]
        self.dict_guards = DictGuards(self.dicts, self.objects)
        self.absent.done()
        values = self.slots, self.values, self.shapes, self.large, self.partly, self.tensors, self.same, self.numbers
        self.has_places = any(values[1:])
        self.is_empty = not any((*values, self.leaves, self.dicts, self.objects, self.absent.scopes))
        self.dicts = self.objects = self.staging = self._taken = self._unused = self.named = None

    # Checking guards.

    def broken(self):
        """Returns whether a guard is violated. Also returns the places with changed values, for those guards that
        expect a certain value."""
        if self.is_empty:
            return False, []
        slots = [
            place
            for scope, name, expected, place in self.slots
            if (now := scope.get(name, MISSING)) is not expected and not equal(now, expected)
        ]
        if not self.dict_guards.hold() or self.absent.appeared():
            return True, slots
        if not all(tensor.requires_grad is flag for tensor, flag in self.leaves):
            return True, slots
        if not self.has_places:
            return bool(slots), slots
        try:
            if self._is_outgrown():
                return True, slots + _changed(self.alone)
            values = _changed(self.values)
            holds = (
                all(id(place.state()) not in self.changed for place in self.others)
                and all(same_items(items, container) for items, container in self.large)
                and all(same_items_but(*guard) for guard in self.partly)
                and all(_is_like(place.state(), tensor, kind) for place, tensor, kind in self.tensors)
                and all(one.state() is other.state() for one, other in self.same)
                and all(type(place.state()) is kind for place, kind in self.numbers)
            )
        except (LookupError, TypeError):  # a list is shorter than before
            return True, slots
        return bool(slots or values) or not holds, slots + values

    def _is_outgrown(self):
        """Returns whether a container has another type, other keys or another length than expected. If a list grows in each
        call, this is known without a comparison of its items."""
        if self.are_outgrown():
            return True
        self._outgrown = next((shape for shape in self.shapes if form_of(shape[0].state()) != shape[1]), None)
        return self._outgrown is not None

    def are_outgrown(self):
        """Returns whether the container that had another form in the last check still has. Otherwise, nothing is known."""
        try:
            return self._outgrown is not None and form_of(self._outgrown[0].state()) != self._outgrown[1]
        except (LookupError, TypeError):
            return False


def _changed(values):
    """Returns the places with other values than expected."""
    return [place for place, value in values if not equal(place.state(), value)]


def form_of(container):
    """Returns the type of a container, with the keys of a dictionary or the length of a list or tuple."""
    return type(container), list(items_of(container)) if isinstance(container, dict) else len(container)


def _is_like(now, tensor, kind):
    return now is tensor or isinstance(now, torch.Tensor) and _kind(now) == kind


def _is_structure(value):
    kind = type(value)
    is_container = issubclass(kind, (*SEQUENCES, *MAPPINGS)) and not isinstance(value, List)
    return is_container or kind is tuple or isinstance(value, tuple) and hasattr(kind, "_fields")


def _kind(tensor):
    return type(tensor), tensor.dtype, tensor.shape, tensor.device, history(tensor)


def equal(a, b):
    if a is b:
        return True
    if isinstance(a, Snapshot):
        return isinstance(b, Snapshot) and a.same(b)
    if type(a) is not type(b) or not isinstance(a, _PLAIN):
        return False
    # `1 / x` distinguishes `0.0` and `-0.0`, which are equal.
    return a == b and (a != 0 or repr(a) == repr(b)) or a != a and b != b
