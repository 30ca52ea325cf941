"""The changes of Python state that a staged function makes. They are applied after each run."""

from ..capture.places import MISSING, Element, Held, Items
from ..capture.texts import plain
from ..capture.unbound import Undefined
from ..operators.values import List


class Change:
    """A change of one variable, attribute or element. `value` is its value at the end of the trace."""

    def __init__(self, place, value):
        self.place = place
        self.value = value

    def apply(self, value):
        self.place.restore(MISSING if isinstance(value, Undefined) else value)


class Growth(Change):
    """Items that are appended to a list. The change does not depend on the existing items."""

    def apply(self, value):
        self.place.extend(value)


def state_of(staging, changed, numbers, guards):
    """Returns the changes of one trace. `changed` maps each place to its states before and after the trace. Adds guards that
    expect the states before the trace, and the `numbers` that are inputs of the graph.

    A run changes the same container object that the trace has changed. So the guards must expect this object, even if the
    trace replaces it later:

        self.recent.append(x)
        self.recent = self.recent[-3:]
    """
    numbers.expect(guards)
    for place in changed:
        if isinstance(place, Items):
            guards.skip(place.key())

    changes = []
    for place, (before, value) in changed.items():
        if isinstance(place, Items):
            changes += _items(staging, place, before, value, guards)
        else:
            guards.expect(place, before)
            changes.append(Change(place, value))
    return changes


def _items(staging, place, before, value, guards):
    """Returns the changes of a list or dictionary: one for each changed element if possible, otherwise a single change
    of all items. All items of the container get guards, because the code may have read them."""
    container = place.container
    if isinstance(value, List) and value.value is not None:
        keys = None
    elif isinstance(before, list):
        grows = len(value) > len(before) and all(a is b for a, b in zip(before, value))
        if grows and getattr(container, "maxlen", None) is None and staging.objects.only_grows(container):
            return [Growth(place, list(value)[len(before) :])]
        keys = range(len(before)) if len(value) == len(before) else None
    else:
        keys = value if list(before) == list(value)[: len(before)] else None
    if keys is None:
        guards.expect_items(container, before)
        return [Change(place, value)]
    old = {name: before[name] if isinstance(before, list) else before.get(name, MISSING) for name in keys}
    names = [name for name in keys if old[name] is not value[name]]
    guards.expect_items(container, before, names)
    return [Change(Element(Held(container), plain(staging, name, numbers=True)), value[name]) for name in names]
