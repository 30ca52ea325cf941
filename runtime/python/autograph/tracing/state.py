"""Python state that a staged function changes: what a run does to it."""

from ..capture.objects import MISSING, Element, Held, Items


class Change:
    """One variable, attribute or element. `value` is what the graph makes of it."""

    def __init__(self, place, value):
        self.place = place
        self.value = value

    def apply(self, value):
        self.place.restore(value)


class Growth(Change):
    """A list that was appended to: what was in it before does not matter."""

    def apply(self, value):
        self.place.container.extend(value)


def state_of(staging, changed, new, guards):
    """What becomes of each place, given its state before the trace and after it; the guards are told what it was."""
    numbers = {capture.place.key() for capture in staging.captures.values() if capture.is_number}

    def change(place, before, value):
        key = place.key()
        if key in numbers:
            guards.expect_number(place, type(before))
        else:
            guards.expect(place, before)
        return Change(place, value)

    changes = []
    for (place, before), value in zip(changed.items(), new):
        if isinstance(place, Items):
            changes += _items(place.key(), place, before, value, guards, change)
        else:
            changes.append(change(place, before, value))
    return changes


def _items(key, place, before, value, guards, change):
    """The changes of a list or dictionary: of single elements, where the others stay in their places."""
    container = place.container
    guards.looked_after(key)
    if isinstance(before, list):
        if len(value) > len(before) and all(a is b for a, b in zip(before, value)):
            return [Growth(place, list(value)[len(before) :])]
        keys = range(len(before)) if len(value) == len(before) else None
    else:
        keys = value if set(before) <= set(value) else None
    if keys is None:
        guards.expect_items(container, before)
        return [Change(place, value)]
    old = {name: before[name] if isinstance(before, list) else before.get(name, MISSING) for name in keys}
    return [
        change(Element(Held(container), name), old[name], value[name])
        for name in keys
        if old[name] is not value[name]
    ]
