"""Python objects that staged code changes: `self.n += 1`, `history.append(loss)`, `nonlocal total`.

A *block* is a function of converted code, for example the body of a branch or loop. From the beginning of its region,
all objects that the block can reach are watched:

- the variables of enclosing functions, and the globals that the block names;
- everything that can be reached from these through attributes, elements, classes, closures and defaults of functions,
  iterators and generators;
- the random number generators of Python and NumPy.

Objects created in the block are not watched.

When a region has been traced, its changes are recorded and undone, as for tensors:

    if x.sum() > 0:
        self.n += 1    # recorded: the branch returns `self.n + 1`; then `self.n` gets its old value again

So a branch that is not taken and a loop that is traced twice have no effect. The changes of a trace are applied after
the graph has run.
"""

import types

import torch

from ..conversion import spans
from ..conversion.converter import is_user_code
from ..errors import RandomStateChanged, StagingError
from . import appends, contents, heap
from .code_reads import OF_ALL, OF_TEXTS, called_by_python, functions_of, implicit, is_of_python, reads_of, unseen_members
from .places import MISSING, Attribute, ClosureVariable, Contents, Element, Global, Items, items_of
from .watchers import FIXED, PLAIN_TENSORS, defaults_of, of_blocks, slots_of, watch_object, watch_tensor, watcher_of


#: The maximum number of lists for which a trace finds out how the code uses them.
MOST_LISTS = 32


class Objects:
    """The objects that one trace watches."""

    def __init__(self):
        self.kept = {}  # id -> object; keeps the ids unique
        self.heap = heap.Heap(self._found)
        self.seen_code = set()
        self.arguments = set()  # ids of dictionaries among the arguments
        self.is_outer = True
        self.modules = []
        self.names = set()  # names of attributes and variables in reachable code
        self.globals_read = {}  # (id of the scope, name) -> (scope, name)
        self.codes = []  # the user's code that the trace reaches
        self.existing = set()  # ids of objects that the function did not create
        self.hidden = {}  # class -> names of attributes that the trace itself assigns
        self.pinned = set()  # ids of lists that must keep their identity while tracing
        self.defaults = []  # mutable defaults of functions
        self.named = None  # if not None, only the values of attributes with these names are watched
        self.in_python = ()  # code of Python functions that the graph calls
        self.unrestorable = {}  # id -> a place that was changed and cannot be restored
        self.scopes = {}  # id of the variables of a module -> (variables, names that are not defined in it)
        self._fully_read = {}  # id -> object whose attributes may all be read; keeps the ids unique
        self._entered = {}  # id -> function that is called; keeps the ids unique
        self._classes = []  # the user's classes that are watched
        self._unseen = set()  # ids of code that may run where the trace does not see it
        self._unseen_names = set()  # the names in this code
        self._pending = []  # (object, when it was found, whether it is reachable from outside)
        self._is_watching = False

    @property
    def entries(self):
        return self.heap.entries

    # Roots.

    def block(self, body):
        """Watches all objects that a block of converted code can reach. The variables of the block are not watched,
        because they are part of the state of the `if` or loop. A block may be a function of a library, such as
        `optimizer.step`, whose globals are not state of the program."""
        code = getattr(body, "__code__", None)
        if code is not None and (spans.is_converted_text(code.co_filename) or is_user_code(body)):
            self.note_code(body)
        self._watch_all(of_blocks(body), self.heap.clock, False)

    def entered(self, function):
        """Watches the globals, the variables of enclosing functions and the defaults of a user function that is called."""
        if id(function) not in self._entered:
            self._entered[id(function)] = function
            self.defaults += defaults_of(function)
            self._watch_all([function], 0)

    def unseen(self, value):
        """Watches the objects that a function may read and change. Python or a library calls this function, so the
        trace does not see the calls in it. Examples are special methods, hooks, and arguments of functions such as
        `functools.reduce`. The methods that it may call are those of watched classes with a name that occurs in its
        code."""
        for function in functions_of(value):
            code = function.__code__
            if id(code) in self._unseen or not is_user_code(function):
                continue
            self._unseen.add(id(code))
            self._watch_all([function], self.heap.clock)
            self.note_code(function)
            self._may_call(reads_of(code).names)

    def _may_call(self, names):
        """Watches the methods with these names."""
        found = names - self._unseen_names
        self._unseen_names |= found
        for kind in list(self._classes) if found else ():
            self._methods(kind, found)

    def _methods(self, kind, names):
        for name in names & kind.__dict__.keys():
            self.unseen(kind.__dict__[name])

    def unseen_class(self, kind):
        """Watches the methods of a class that Python calls where the trace does not see it."""
        self._classes.append(kind)
        for function in unseen_members(kind):
            self.unseen(function)
        self._methods(kind, self._unseen_names)

    def called(self):
        """Returns the functions that the trace has called."""
        return list(self._entered.values())

    def watch(self, value):
        self._watch_all([value], self.heap.clock)

    def watch_argument(self, container):
        """Watches a container among the arguments. A `List` records its own changes."""
        if isinstance(container, dict):
            self.arguments.add(id(container))
            self.kept[id(container)] = container
            self.add((id(container), None), heap.Container(Items(container), False), 0)
        self._watch_all(container.values() if isinstance(container, dict) else list.__iter__(container), 0)

    def watch_generators(self):
        """Watches the random number generators that exist outside of all functions."""
        self._watch_all(contents.generators(), 0)

    # Reachable objects.

    def _found(self, values):
        """Watches objects that a change made reachable."""
        self._watch_all(values, self.heap.clock, False)

    def _watch_all(self, values, born, is_outer=True):
        """Watches these values and all values that they lead to. A recursive call adds its values to the pending ones."""
        self._pending += [(value, born, is_outer) for value in values]
        if self._is_watching:
            return
        self._is_watching = True
        try:
            while self._pending:
                value, born, is_outer = self._pending.pop()
                if id(value) not in self.kept:
                    watch = watcher_of(type(value))
                    if watch is None and type(value) in PLAIN_TENSORS and value.__dict__:
                        watch = watch_tensor
                    if watch is not None:
                        self.kept[id(value)] = value
                        if born == 0:
                            self.existing.add(id(value))
                        self.is_outer = is_outer
                        found = watch(self, value, born)
                        if watch in FIXED:
                            self.pin(found)
                        self._pending += [(inner, born, is_outer) for inner in found]
        finally:
            self._is_watching, self.is_outer = False, True

    def pin(self, values):
        """Records the lists among these values as pinned: the object that holds them does not allow replacing them."""
        self.pinned.update(id(value) for value in values if type(value) is list)

    def add(self, key, entry, born):
        if key not in self.heap.entries:
            self.heap.add(key, entry, born, self.is_outer)

    def note_code(self, function):
        """Records the names in the code of a function, and watches the globals that it names."""
        code = getattr(function, "__code__", None)
        if code is None or id(code) in self.seen_code:
            return
        self.seen_code.add(id(code))
        if not spans.is_converted_text(code.co_filename):
            self.codes.append(code)
        scope = function.__globals__
        reads = reads_of(code)
        self.names.update(reads.names)
        self._may_call(OF_TEXTS & reads.names)
        named = reads.names if "globals" in reads.scope else reads.scope
        for name in named & scope.keys():
            if not isinstance(scope[name], types.ModuleType):
                self.globals_read[id(scope), name] = scope, name
        if absent := named - scope.keys():
            self.scopes[id(scope)] = scope, absent | self.scopes.get(id(scope), (scope, frozenset()))[1]
        for name in reads.names:
            if name in scope and (id(scope), name) in self.heap.entries:
                self._found([scope[name]])  # the function may have assigned a new object
            elif name in scope:
                if not isinstance(scope[name], (types.ModuleType, type, types.FunctionType)):
                    self.add((id(scope), name), heap.Variable(Global(scope, name)), 0)
                self._watch_all([scope[name]], 0)

    def followed(self, value, entry):
        """Returns the values of the attributes that are watched with an object."""
        if self.named is None:
            return list(entry.children())
        return [inner for name, inner in attributes_of(value, entry.state) if name in self.named]

    def hide(self, kind, name):
        """Ignores changes of a class attribute that the trace itself assigns."""
        self.hidden[kind] = self.hidden.get(kind, frozenset()) | {name}
        entry = self.entries.get((id(kind), "__dict__"))
        if entry is not None:
            entry.hidden = self.hidden[kind]

    def share_memory(self, tensor):
        """Returns whether a tensor shares memory with an object that is watched, such as an array of NumPy."""
        places = [entry.place for entry in self.entries.values() if isinstance(entry, heap.Opaque)]
        return any(contents.share_memory(place.kind, place.object, [tensor]) for place in places)

    def watches(self, container):
        """Returns whether the items of a container are watched."""
        return (id(container), None) in self.entries

    def holders(self, container):
        """Returns the variables and attributes that hold a container; None if something else also holds it."""
        found = []
        if id(container) in self.pinned:
            return None
        for entry in self.entries.values():
            if isinstance(entry, heap.Variable):
                found += [entry.place] if entry.place.state() is container else []
            elif isinstance(entry, heap.Attributes):
                now = entry.current()
                found += [entry.place(name) for name, value in now.items() if value is container]
            elif isinstance(entry, (heap.Container, heap.StagedList)):
                if any(value is container for value in entry.children()):
                    return None
        return found

    def is_existing(self, cell):
        """Returns whether a cell is a place or container that the function did not create."""
        if isinstance(cell, Global):
            return True
        if isinstance(cell, ClosureVariable):
            entry = self.entries.get(cell.key())
            return entry is not None and entry.born == 0
        owner = getattr(cell, "owner", None) if isinstance(cell, Attribute) else getattr(cell, "container", None)
        return getattr(cell, "is_outer", False) or owner is not None and id(owner) in self.existing

    def count_holders(self, container, clock, replaced):
        """Returns how many variables, attributes and items of containers hold a container. Counts only those that were
        watched before the mark with the number `clock`. `replaced` contains the ids of the lists that a `List`
        replaces."""
        count = 1 if id(container) in self.pinned else 0
        for entry in self.entries.values():
            if entry.born > clock:
                continue
            if isinstance(entry, heap.Variable):
                count += entry.place.state() is container
            elif isinstance(entry, heap.Attributes):
                count += sum(value is container for value in entry.current().values())
            elif isinstance(entry, heap.Container) and not entry.is_data and id(entry.place.container) not in replaced:
                items = entry.place.state()
                count += sum(value is container for value in (items.values() if isinstance(items, dict) else items))
            elif isinstance(entry, heap.StagedList):
                count += sum(value is container for value in list.__iter__(entry.list))
        return count

    def count_copies(self, container):
        """Returns the number of references to a container or tensor from the records of the trace. Called after `heap.sync`."""
        count = 1 if id(container) in self.kept else 0
        for entry in self.entries.values():
            count += isinstance(entry, heap.StagedList) and entry.list is container
            count += _occurrences(entry.state, container)
        return count + sum(_occurrences(before, container) for _, before in self.heap.log)

    # The state that the code can read.

    def names_of(self, owner):
        """Returns the names of attributes of `owner` that may be read: by the code, or by a method of its class that
        Python calls implicitly."""
        kind = type(owner)
        if isinstance(owner, torch.optim.Optimizer):
            return {*owner.__dict__}
        named = self.names.union(*(reads_of(code).names for code in called_by_python(kind)))
        if isinstance(owner, type):
            return named if is_of_python(owner) else named | implicit(owner)
        if not self.is_fully_read(owner):
            return named
        return {*named, *getattr(owner, "__dict__", ()), *slots_of(kind)}

    def all_names(self):
        """Returns the names of all attributes that the code may read."""
        kinds = {type(self.kept[key]) for key, name in self.entries if name == "__dict__"}
        implicit = (reads_of(code).names for kind in kinds if not is_of_python(kind) for code in called_by_python(kind))
        return frozenset(self.names).union(*implicit)

    def note_full_read(self, values):
        """Records that code that is not converted may read all attributes of these objects."""
        seen, pending = set(), list(values)
        while pending:
            value = pending.pop()
            if id(value) in seen or id(value) in self._fully_read:
                continue
            if isinstance(value, (list, tuple)):
                seen.add(id(value))
                pending += list.__iter__(value) if isinstance(value, list) else value
            elif watcher_of(type(value)) is watch_object and hasattr(value, "__dict__"):
                self._fully_read[id(value)] = value
                pending += value.__dict__.values()

    def is_fully_read(self, owner):
        """Returns whether the code may read all attributes of an object."""
        return id(owner) in self._fully_read or not self.names.isdisjoint(OF_ALL)

    def only_grows(self, container):
        """Returns whether the code only appends to a container, so that no result depends on its items."""
        paths = self._paths(container)
        reads = [read for code in self.codes for read in appends.reading_paths(code)] if paths else ()
        return bool(paths) and not any(appends.may_read(read, path) for read in reads for path in paths)

    def growing_lists(self):
        """Returns lists from outside to which the code only appends. The trace may not have reached this code:
        `except ValueError: errors.append(x)`."""
        if self.names.isdisjoint(("append", "extend")):
            return []
        found = [entry for entry in self.entries.values() if isinstance(entry, heap.Container) and entry.is_outer]
        lists = [entry.place.container for entry in found if type(entry.place.container) is list]
        return [found for found in lists[:MOST_LISTS] if self.only_grows(found)]

    def _paths(self, container, within=()):
        """Returns the paths of a container (`appends.py`): the names of the variables and attributes that hold it, or that
        hold containers with it, which are not the containers `within` it. None if something else holds it."""
        if id(container) in self.pinned or id(container) in within:
            return None
        found = []
        for entry in self.entries.values():
            if isinstance(entry, heap.Variable):
                found += [(entry.place.name,)] if entry.place.state() is container else []
            elif isinstance(entry, heap.Attributes):
                found += [(name,) for name, value in entry.current().items() if value is container]
            elif isinstance(entry, (heap.Container, heap.StagedList)):
                outer = entry.list if isinstance(entry, heap.StagedList) else entry.place.container
                items = () if getattr(entry, "is_data", False) else items_of(outer)
                pairs = items.items() if isinstance(items, dict) else enumerate(items)
                keys = [key for key, value in pairs if value is container]
                paths = self._paths(outer, (*within, id(container))) if keys else ()
                if paths is None:
                    return None
                found += [(*path, appends.key(key)) for path in paths for key in keys]
        return found

    def numbers(self, places):
        """Returns those of the places that hold a Python number and that the code can reach."""
        return [
            place for place in places if self._reaches(place) and type(_state_or_missing(place)) in (bool, int, float)
        ]

    def _reaches(self, place):
        if isinstance(place, Element):
            return type(_state_or_missing(place.holder)) is not tuple and self._reaches(place.holder)
        key = place.key()
        return key in self.entries or key[0] in self.kept

    # Changes.

    def before_pause(self):
        """Called before code for which the trace is paused. The changes of state that this code makes are not undone."""
        if self.heap.compare_all():
            raise RandomStateChanged
        self.heap.sync()

    def after_pause(self, what, adopt_lists):
        """Called after code for which the trace was paused. `adopt_lists` applies the changes of this code to the lists from
        outside. Returns whether the code has changed state from outside of the function. `what` names the code in errors."""
        try:
            adopt_lists()
            return self.heap.adopt(lambda values: self._watch_all(values, 0))
        except heap.Rewritten as error:
            message = f"{what} changes {error}, which the function has changed before"
            raise StagingError(f"{message}\nhelp: change it in one of the two places", spans.current()) from None

    def watch_existing(self, value):
        """Watches an object that existed before the trace, in which it is found before it changes."""
        if id(value) not in self.kept:
            self._watch_all([value], 0)

    def watch_returned(self, value):
        """Watches an object that code outside of the trace has returned."""
        self._watch_all([value], 0)

    def snapshot(self):
        """Returns a mark for `changed`."""
        return self.heap.mark()

    def changed(self, before):
        """Returns the places whose state has changed since a snapshot, with their state in the snapshot."""
        return self.heap.changed(before)

    def changed_outside(self, before):
        """Returns the changed places, except for those in dictionaries among the arguments."""
        changed = self.changed(before)
        return {place: state for place, state in changed.items() if place.key()[0] not in self.arguments}

    def restore(self, place, state):
        """Restores the state of a place. If that is not possible, records the place as unrestorable, which makes the trace
        invalid."""
        place.restore(state)
        if isinstance(place, Contents) and not place.state().same(state):
            self.unrestorable[id(place.object)] = place

    def is_unrestorable(self, place):
        return place.key()[0] in self.unrestorable


def attributes_of(value, state):
    """Returns the names and values of the attributes of an object. For a `torch.nn.Module` they include its parameters,
    buffers and submodules."""
    if isinstance(value, torch.nn.Module):
        state = {**state, **{k: v for name in ("_parameters", "_buffers", "_modules") for k, v in state.get(name, {}).items()}}
    return state.items()


def _state_or_missing(place):
    try:
        return place.state()
    except (LookupError, TypeError):
        return MISSING


def _occurrences(state, container):
    """Returns how often a state of an entry of the heap refers to a container."""
    if state is container:
        return 1
    if type(state) is dict:
        return sum(value is container for value in state.values())
    return sum(value is container for value in state) if type(state) is list else 0
