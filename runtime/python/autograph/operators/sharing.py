"""Lists, dictionaries and tensors that two places share on some paths of the graph only.

A place is a variable, an attribute or an item. After a staged condition or loop, each place that it assigns holds a new
list or dictionary, which the graph has merged. So two places that held the same object on some paths hold two separate
objects afterwards, and a change of one object would not change the other:

    if x.sum() > 0:
        a = b          # on some paths, `a` and `b` are the same list
    a.append(x)        # also changes `b` on these paths

If one of the two places remains after the call, as an attribute does, the condition or loop is decided for the
arguments of the call, or refused. If both places are local variables, it is decided or refused only if one of the two
objects is changed while the other one exists.
"""

import operator
import sys
import weakref
from typing import Any, NamedTuple

import torch

from ..capture.aliases import Base, cell_state
from ..capture.places import MAPPINGS, SEQUENCES, Attribute, Items, items_of, same_items
from ..capture.rows import StandIn
from ..capture.staging import current, is_staged_tensor
from ..capture.unbound import Maybe
from ..conversion import spans
from ..errors import Decide, StagingError
from . import regions
from .values import List


class Slot(NamedTuple):
    """A variable or place that the branches or the loop assign: its value before them, and its value at the end of each branch
    or iteration. `remains` is whether code outside of the function can read it. A place has a `cell`. If the cell is a container,
    the values are its items, as a dictionary."""

    name: str
    remains: bool
    before: Any
    afters: list
    cell: Any = None

    @property
    def is_inner(self):
        return isinstance(self.cell, (List, Items))


class Group(NamedTuple):
    """Places that hold the same container or tensor on some path: `positions` are pairs of the index of a slot and a
    path in its value. `others` are further objects that the group shares: the container or tensor itself, if it existed
    before the branches or the loop, and objects that an inner condition or loop has made the same on some paths.
    `twins` are positions of cells that represent the same places as some of the `positions`. `is_inner`: the group only
    concerns the statement around this one, which holds the objects itself."""

    positions: tuple
    others: tuple = ()
    twins: tuple = ()
    is_inner: bool = False

    @property
    def key(self):
        return self.positions, tuple(map(id, self.others))

    def joined(self, other):
        positions = sorted({*self.positions, *other.positions}, key=str)
        others = {id(value): value for value in self.others + other.others}
        return Group(tuple(positions), tuple(others.values()), self.twins + other.twins)


class Starts:
    """The containers and tensors at the start of an iteration of a loop, each with its position. At the end of the iteration, one
    of them may have moved to another place: `a, b = b, a`."""

    def __init__(self, staging, values):
        self.staging = staging
        self.containers = {}
        self.bases = {}
        for index, value in enumerate(values):
            for path, container in containers_in(value):
                reference = weakref.ref(container) if isinstance(container, List) else lambda it=container: it
                self.containers.setdefault(id(container), (reference, (index, path)))
            for path, tensor in tensors_in(value):
                self.bases.setdefault(staging.view_of(tensor).base, (index, path))

    def with_start(self, container, positions):
        """Returns the positions of a container or of the memory of tensors, including its position at the start of the
        iteration."""
        if isinstance(container, Base):
            start = self.bases.get(container)
        else:
            reference, start = self.containers.get(id(container), (None, None))
            if reference is None or reference() is not container:
                return positions
        return positions if start is None or start in positions else [*positions, start]


def containers_in(value, path=()):
    """Yields the lists and dictionaries in a value, each with its path. The node of a tree is a row of the graph, even if its
    class is a named tuple."""
    if isinstance(value, StandIn):
        return
    if isinstance(value, (*SEQUENCES, *MAPPINGS)):
        yield path, value
        if isinstance(value, List) and value.value is not None:
            return
        items = items_of(value)
    elif isinstance(value, tuple):
        items = list(value)
    else:
        return
    for key, item in items.items() if isinstance(items, dict) else enumerate(items):
        if isinstance(item, (tuple, *SEQUENCES, *MAPPINGS)) and len(path) < _DEPTH:
            yield from containers_in(item, (*path, key))


def tensors_in(value):
    """Yields the tensors in a value, each with its path."""
    if isinstance(value, torch.Tensor):
        yield (), value
    for path, container in containers_in(value):
        if isinstance(container, List) and container.value is not None:
            continue
        items = container if isinstance(container, tuple) else items_of(container)
        for key, item in items.items() if isinstance(items, dict) else enumerate(items):
            if isinstance(item, torch.Tensor):
                yield (*path, key), item


def variable(name, before, afters):
    """Returns the slot of a variable of converted code, which may be an attribute or an item: `a.b`, `a[i]`."""
    return Slot(name, "." in name or name.endswith("]"), before, afters)


def place(staging, cell, afters):
    """Returns the slot of a cell, given its states at the end of each branch or iteration."""
    before, name = cell_state(cell), regions.description(cell)
    if not isinstance(cell, (List, Items)):
        return Slot(name, not isinstance(cell, Base), before, afters, cell)
    kept = regions.kept_items(cell, before, afters)
    is_outer = cell.is_outer if isinstance(cell, List) else id(cell.container) in staging.outside
    before, *afters = ({k: v for k, v in _items(cell, state) if k not in kept} for state in (before, *afters))
    return Slot(name, is_outer, before, afters, cell)


def _items(cell, state):
    """Returns the keys or indexes of a container with its items; none if they are in the graph."""
    items = regions.items_in(cell, state)
    return () if items is None else items.items() if isinstance(items, dict) else enumerate(items)


def assigned(cell):
    """Returns the value of the slot of a cell after the branches or the loop."""
    return dict(_items(cell, cell_state(cell))) if isinstance(cell, (List, Items)) else cell_state(cell)


#: Containers that are nested more deeply are not compared.
_DEPTH = 4


def groups(staging, slots, born, starts=None):
    """Returns the groups of positions that hold one container or tensor on some path. If such a group remains after the call,
    restarts the trace with the condition or loop decided, or raises an error. `born` is the clock of the heap and the number of a
    list before the branches or the loop; `starts` are the `Starts` of a loop."""
    found = {}
    before = {id(container): len(positions) for container, positions, _ in _occurrences(slots, [slot.before for slot in slots])}
    for number in range(len(slots[0].afters) if slots else 0):
        containers = _occurrences(slots, [slot.afters[number] for slot in slots])
        tensors = _tensors(staging, slots, number)
        places = {id(container): positions for container, positions, _ in containers}
        places.update((base, positions) for base, (positions, _) in tensors.items())
        for container, positions, twins in containers:
            positions, relatives = _related(staging, born, places, container, positions, starts)
            count = before.get(id(container), 0)
            group = _group(staging, slots, born, container, positions, count, starts is not None, relatives)
            group = _with_inner(staging, born, places, container, positions, group)
            if group is not None:
                found.setdefault(group.key, group._replace(twins=tuple(twins)))
        for base, (positions, tensor) in tensors.items():
            positions, relatives = _related(staging, born, places, tensor, positions, starts)
            group = _tensor_group(staging, slots, base, positions, tensor, number, relatives)
            group = _with_inner(staging, born, places, tensor, positions, group)
            if group is not None:
                found.setdefault(group.key, group)
    return list(found.values()) if starts is None else _closed(found.values(), slots)


def _related(staging, born, places, value, positions, starts):
    """Returns the positions of a container or tensor, together with those of its relatives, the objects that are the
    same on some paths. With `starts`, adds the position at the start of the iteration. Also returns the relatives that
    existed before the branches or the loop."""
    found, relatives = list(positions), []
    if starts is not None:
        found = starts.with_start(_identity(staging, value), found)
    for other in _relatives(staging, value):
        found += [position for position in places.get(_key(staging, other), ()) if position not in found]
        if _is_from_before(staging, other, born):
            relatives.append(other)
    return found, tuple(relatives)


def _with_inner(staging, born, places, value, positions, group):
    """Adds what is the same as this value on some paths of an inner condition or loop: objects from before the branches or the
    loop, and values of other places.

        if x.sum() > 0:
            a = [x]
        elif x.sum() < 0:      # an `if` in the else branch: without a change, `a` is still the list from before
            a = [-x]
    """
    inner = _relatives(staging, value, inner=True)
    known = positions if group is None else group.positions
    found = {position: None for other in inner for position in places.get(_key(staging, other), ()) if position not in known}
    older = tuple(other for other in inner if _is_from_before(staging, other, born))
    if not found and not older:
        return group
    if group is None:
        return Group((*known, *found), older, is_inner=staging.depth > 0)
    return group._replace(positions=(*known, *found), others=(*group.others, *older))


def _identity(staging, value):
    """Returns the object that two names can share: the memory of a tensor, or a container."""
    return staging.view_of(value).base if isinstance(value, torch.Tensor) else value


def _key(staging, value):
    return staging.view_of(value).base if isinstance(value, torch.Tensor) else id(value)


def _is_from_before(staging, value, born):
    if isinstance(value, torch.Tensor):
        return staging.view_of(value).base.depth <= staging.depth
    return _is_older(staging, value, born)


def _closed(found, slots):
    """Joins the groups of a loop that have a position in common, because several iterations can move a container along
    all of their positions. A container that was at one of these positions before the loop can move along them too."""
    joined = []
    for group in found:
        if len(group.positions) > 1:
            before = [_at(slots[index].before, path) for index, path in group.positions]
            group = group.joined(Group((), tuple(value for value in before if isinstance(value, (List, dict, torch.Tensor)))))
        apart = []
        for other in joined:
            if set(other.positions) & set(group.positions):
                group = group.joined(other)
            else:
                apart.append(other)
        joined = [*apart, group]
    return joined


def _tensors(staging, slots, number):
    """Returns the memory of the tensors at the end of a branch or iteration: base -> (positions, a tensor)."""
    found = {}
    for index, slot in enumerate(slots):
        for path, tensor in tensors_in(slot.afters[number]):
            found.setdefault(staging.view_of(tensor).base, ([], tensor))[0].append((index, path))
    return found


def _tensor_group(staging, slots, base, positions, tensor, number, relatives):
    """Returns the group of the positions that hold a tensor with this memory, as `_group` does for containers."""
    is_older = base.depth <= staging.depth
    if not is_older and len(positions) < 2 and not relatives:
        return None
    whole = [index for index, path in positions if not path]
    changed = [i for i in whole if not regions.same_object(slots[i].afters[number], slots[i].before)]
    remaining = [i for i in changed if slots[i].remains]
    if len(remaining) > 1 or remaining and is_older and _remains(staging, base, slots[remaining[0]].afters[number]):
        regions.restart_decided(staging)
    if not changed and len(positions) == 1 and staging.depth and not relatives:
        return Group(tuple(positions), (tensor,), is_inner=True)
    return Group(tuple(positions), (*([tensor] if is_older else ()), *relatives))


def _relatives(staging, value, inner=False):
    """Returns the containers or tensors that are the same as this one on some paths since an inner condition or loop.
    With `inner`, returns those of the groups that only concern the statement around it."""
    if isinstance(value, torch.Tensor):
        marks = staging.aliases.merged.get(staging.view_of(value).base, ())
    else:
        marks = value.merged if isinstance(value, List) else ()
    found = [reference() for mark in marks if mark.is_inner == inner for reference in mark.references]
    return tuple({id(other): other for other in found if other is not None and other is not value}.values())


def _occurrences(slots, values):
    """Returns the containers in these values of the slots, each with its positions and their twins."""
    found = {}
    for index, (slot, value) in enumerate(zip(slots, values)):
        for path, container in containers_in(value):
            if path or not slot.is_inner:
                _, positions, twins = found.setdefault(id(container), (container, [], []))
                is_twin = any(_is_same_place(slots[other], at, slot, path) for other, at in positions)
                (twins if is_twin else positions).append((index, path))
    return found.values()


def _is_same_place(variable, variable_path, slot, path):
    """Returns whether a variable of converted code, such as `self.items`, is also the place of a cell."""
    if slot.cell is None or variable.cell is not None:
        return False
    if slot.is_inner:
        key, path = path[0], path[1:]
        is_named = variable.name.endswith("]")
        values = [_at(value, (key,)) for value in (slot.before, *slot.afters)]
    else:
        is_named = variable.name.endswith(f".{getattr(slot.cell, 'name', None)}")
        values = [slot.before, *slot.afters]
    before = [variable.before, *variable.afters]
    return is_named and path == variable_path and all(map(operator.is_, before, values))


def _remains(staging, base, tensor):
    """Returns whether code outside of the function can read a tensor after the call."""
    if base.source is not None:
        return True
    holders = staging.objects.holders(tensor)
    return holders is None or any(isinstance(place, Attribute) for place in holders)


def _group(staging, slots, born, container, positions, before, is_loop, relatives):
    """Returns the group of these positions; None if nothing else holds the container. `before` is the number of positions that
    held it before the branches or the loop."""
    remaining = [index for index, _ in positions if slots[index].remains]
    if not _is_older(staging, container, born):
        if len(positions) < 2 and not relatives:
            return None
        if len(remaining) > 1 or remaining and relatives:
            _decide(staging, slots[remaining[0]].name, container)
        return Group(tuple(positions), relatives)
    unchanged = sum(_at(slots[index].before, path) is container for index, path in positions)
    is_outer = container.is_outer if isinstance(container, List) else id(container) in staging.outside
    if remaining or is_outer and not is_loop:
        others = staging.objects.count_holders(container, born[0], staging.outer_lists.lists) - before
        # An object from outside may have further holders that the trace does not know, also in a later call.
        is_moved = remaining and is_outer and not unchanged and not is_loop
        if others + len(positions) > 1 or is_moved:
            if remaining:
                _decide(staging, slots[remaining[0]].name, container)
            regions.restart_decided(staging)
    elif isinstance(container, dict) and not unchanged and not is_loop:
        regions.restart_decided(staging)
    if unchanged == len(positions) == 1 and staging.depth and not relatives:
        return Group(tuple(positions), (container,), is_inner=True)
    return Group(tuple(positions), (container, *relatives))


def _decide(staging, name, container):
    regions.restart_decided(staging)
    kind = "list" if isinstance(container, SEQUENCES) else "dictionary"
    message = f"`{name}` is the {kind} of another variable or attribute on some paths only, which a graph cannot do here"
    raise StagingError(f"{message}\nhelp: assign a copy: `copy.copy(...)`", spans.current())


def _is_older(staging, container, born):
    """Returns whether a container existed before the branches or the loop."""
    clock, number = born
    if isinstance(container, List):
        return container.number < number
    entry = staging.objects.entries.get((id(container), None))
    return id(container) in staging.outside or entry is not None and entry.born <= clock


def mark(staging, found, values):
    """Marks the containers and tensors of each group in the `values` of the slots after the branches or the loop."""
    span = spans.current()
    may_decide = not staging.depth and staging.allows_decisions and span not in staging.decisions
    for group in found:
        shared = [*(_at(values[index], path) for index, path in group.positions + group.twins), *group.others]
        shared = [_whole(staging, value) for value in shared if isinstance(value, (List, dict, torch.Tensor))]
        references = [weakref.ref(value) for value in shared if type(value) is not dict]
        merged = Merged(span, may_decide, references, group.is_inner)
        for value in shared:
            if isinstance(value, List):
                value.merged += (merged,)
            elif isinstance(value, torch.Tensor):
                staging.aliases.merged.setdefault(staging.view_of(value).base, []).append(merged)
            elif may_decide and not group.is_inner:
                staging.merged_dictionaries.append((value, items_of(value), merged))


def _whole(staging, value):
    """Returns the tensor that owns the memory of a view; any other value as it is."""
    if not isinstance(value, torch.Tensor):
        return value
    view = staging.view_of(value)
    return view.base.fake if view.chain else value


def _at(value, path):
    """Returns the value at a path; None if there is none, or if it is in the graph."""
    for key in path:
        if isinstance(value, List):
            value = items_of(value) if value.value is None else None
        has_items = isinstance(value, (tuple, *SEQUENCES, *MAPPINGS))
        if not has_items or (key not in value if isinstance(value, dict) else key >= len(value)):
            return None
        value = value[key]
    return value.value if isinstance(value, Maybe) else value


class Merged:
    """Marks lists or tensors that are the same on some paths only: the span of the `if` or loop, whether it can be decided, and
    weak references to them."""

    __slots__ = ("span", "may_decide", "references", "is_inner")

    def __init__(self, span, may_decide, references, is_inner):
        self.span = span
        self.may_decide = may_decide
        self.references = references
        self.is_inner = is_inner

    def refuse_change(self, changed):
        """Called before one of the lists or tensors is changed. If another one still exists, restarts the trace with
        the `if` decided, or raises an error."""
        staging = current()
        if not self.is_inner and any(_is_held(staging, reference, changed) for reference in self.references):
            self._refuse(changed, "changes")

    def refuse_comparison(self, one, other):
        """If `other` is one of the lists or tensors, restarts the trace with the `if` decided, or raises an error."""
        others = [] if self.is_inner else [reference() for reference in self.references]
        if any(value is not None and _identity(current(), value) is _identity(current(), other) for value in others):
            self._refuse(one, "compares")

    def _refuse(self, value, what):
        if self.may_decide and current().is_replayable():
            raise Decide(self.span)
        kind, copy = ("list", "list(b)") if isinstance(value, List) else ("tensor", "b.clone()")
        message = f"this {what} a {kind} that is the {kind} of another variable on some paths only"
        raise StagingError(f"{message}\nhelp: copy the {kind} where it is assigned: `a = {copy}`", spans.current())


def check_comparison(a, b):
    """Called for `a is b` of two lists, dictionaries or tensors that are different objects of the trace. If they are the same on
    some paths, restarts the trace with the condition or loop decided, or raises an error."""
    staging = current()
    if isinstance(a, List) and isinstance(b, List):
        marks = a.merged
    elif is_staged_tensor(a) and is_staged_tensor(b):
        marks = staging.aliases.merged.get(staging.view_of(a).base, ())
    else:
        marks = ()
        if type(a) is type(b) is dict:
            found = [{merged for value, _, merged in staging.merged_dictionaries if value is other} for other in (a, b)]
            for merged in found[0] & found[1]:
                raise Decide(merged.span)
    for mark in marks:
        mark.refuse_comparison(a, b)


def _is_held(staging, reference, changed):
    """Returns whether something besides the trace itself holds the list or tensor of a weak reference, or another
    tensor with its memory. Returns False if the weak reference refers to `changed`."""
    if reference() is None or reference() is changed:
        return False
    copies = 0
    if isinstance(reference(), torch.Tensor):
        view = staging.view_of(reference())
        if view.base is changed:
            return False
        if view.base.source is not None or any(other is not view for other in view.base.views or ()):
            return True
        copies = 1 if view.base.fake is reference() else 0
    staging.objects.heap.sync()
    return sys.getrefcount(reference()) - 1 > copies + staging.objects.count_copies(reference())


def check_dictionaries(staging):
    """Restarts the trace if a dictionary that two variables share on some paths only has been changed."""
    for container, items, merged in staging.merged_dictionaries:
        if not same_items(items, container):
            raise Decide(merged.span)
