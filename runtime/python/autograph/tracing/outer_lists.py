"""Lists that exist outside of a function, in attributes, variables, lists and dictionaries.

While the function is traced, a `List` with the same items replaces each of these lists in all places that hold it. So
the list can grow in staged code and keep its identity. A run changes the original list.
"""

from ..capture import heap
from ..capture.places import MAPPINGS, SEQUENCES, Element, Held, Items
from ..operators.values import List


class OuterLists:
    """The lists from outside of one trace, with their replacements."""

    def __init__(self, staging):
        objects = staging.objects
        self.lists = {}  # id of a list -> the list
        self.before = {}  # id of a list -> its items before the trace
        self.replacements = {}  # id of a list -> its `List`
        self.originals = {}  # id of a `List` -> the list
        for entry in objects.entries.values():
            if isinstance(entry, heap.Container) and entry.is_outer and type(entry.place.container) is list:
                container = entry.place.container
                if id(container) not in objects.pinned:
                    self.lists[id(container)] = container
                    self.before[id(container)] = entry.state
        self.objects = objects

    def install(self):
        """Puts the replacements into all places that hold the lists."""
        for number, container in self.lists.items():
            replacement = self.replacements[number] = List(container)
            replacement.is_outer = True
            self.originals[id(replacement)] = container
        for replacement in self.replacements.values():
            for index, item in enumerate(replacement):
                if id(item) in self.replacements:
                    list.__setitem__(replacement, index, self.replacements[id(item)])
        for place, value in list(self._held()):
            place.restore(self.replacements[id(value)])

    def items(self):
        """Returns the items of each replacement, for `adopt`."""
        return {number: list(list.__iter__(replacement)) for number, replacement in self.replacements.items()}

    def adopt(self, before):
        """Applies changes of replacements to the original lists: the changes that code outside of the trace has made
        since `before`. They are treated as if they had been made before the trace."""
        for number, replacement in self.replacements.items():
            items = list(list.__iter__(replacement))
            if _same(before[number], items):
                continue
            if replacement.value is not None or not _same(self.before[number], self.original(before[number])):
                raise heap.Rewritten(f"a list of length {len(items)}")
            self.lists[number][:] = self.before[number] = self.original(items)

    def holding(self, containers):
        """Yields the places that hold one of these containers, directly or in another container, each with its value.
        Called after the trace, when no replacements are left."""
        places = {}
        for place, value in self._outer_values() if containers else ():
            if isinstance(value, (*SEQUENCES, *MAPPINGS)):
                places.setdefault(id(value), []).append((place, value))
        pending, seen = [id(container) for container in containers], set()
        while pending:
            number = pending.pop()
            if number in seen:
                continue
            seen.add(number)
            for place, value in places.get(number, ()):
                yield place, value
                if isinstance(place, Element):
                    pending.append(id(place.holder.object))

    def _held(self):
        """Yields the places outside of other lists that hold these lists, each with its list."""
        for place, value in self._outer_values():
            is_in_list = isinstance(place, Element) and id(place.holder.object) in self.lists
            if id(value) in self.replacements and not is_in_list:
                yield place, value

    def _outer_values(self):
        """Yields all places from outside with their values."""
        for entry in list(self.objects.entries.values()):
            if isinstance(entry, heap.Variable):
                yield entry.place, entry.place.state()
            elif isinstance(entry, heap.Attributes):
                yield from ((entry.place(name), value) for name, value in entry.current().items())
            elif isinstance(entry, heap.Container):
                container, items = entry.place.container, entry.place.state()
                pairs = items.items() if isinstance(items, dict) else enumerate(items)
                yield from ((Element(Held(container), name), value) for name, value in pairs)

    def original(self, value):
        """Returns the items of a list or dictionary, with the original in place of each replacement."""
        if type(value) is dict:
            return {key: self.original_of(item) for key, item in value.items()}
        return [self.original_of(item) for item in value]

    def original_of(self, value):
        return self.originals.get(id(value), value) if type(value) is List else value

    def changes(self, changed, numbers):
        """Returns the changed places, each with its states before and after the trace. Replacing a list by a `List`, and one of
        the `numbers` by a staged number, does not count as a change."""
        found = {}
        for place, before in changed.items():
            if place.key()[0] in self.lists and isinstance(place, Items):
                continue
            is_container = isinstance(place, Items)
            original = self.original if is_container else self.original_of
            before, after = numbers.before(place, original(before)), original(place.state())
            if not (_same(before, after) if is_container else before is after):
                found[place] = before, after
        for number, replacement in self.replacements.items():
            place = Items(self.lists[number])
            before = numbers.before(place, self.before[number])
            if replacement.value is not None:
                found[place] = before, replacement.copy()
                continue
            after = [self.original_of(item) for item in list.__iter__(replacement)]
            if not _same(before, after):
                found[place] = before, after
        return found


def _same(before, after):
    """Returns whether two lists or dictionaries have the same items."""
    if type(before) is not type(after):
        return False
    if type(before) is dict:
        return list(before) == list(after) and all(a is b for a, b in zip(before.values(), after.values()))
    return len(before) == len(after) and all(a is b for a, b in zip(before, after))
