"""The lists and dictionaries among the arguments: staged code changes stand-ins, a run what the caller has given."""

from ..capture.objects import CONTAINERS, same_items
from ..operators.values import List

_KINDS = (List, *CONTAINERS)


def found_in(value):
    """The lists and dictionaries in a structure, in an order that is the same for all structures of one kind."""
    if type(value) in _KINDS:
        yield value
    elif not isinstance(value, tuple):
        return
    for element in value.values() if isinstance(value, dict) else value:
        yield from found_in(element)


def stand_ins(value):
    """A structure in which each list may become one of the graph."""
    if type(value) is list:
        return List(map(stand_ins, value))
    if type(value) in _KINDS:
        value.update((key, stand_ins(element)) for key, element in value.items())
    elif isinstance(value, tuple):
        elements = map(stand_ins, value)
        return type(value)(*elements) if hasattr(value, "_fields") else tuple(elements)
    return value


class Container:
    """One of them, by its stand-in."""

    def __init__(self, staging, stand_in):
        staging.objects.give(stand_in)
        self.stand_in = stand_in
        self.before = stand_in.copy()

    def is_changed(self):
        now = self.stand_in
        if isinstance(now, dict):
            return list(now) != list(self.before) or not same_items(self.before, now)
        return now.value is not None or not same_items(self.before, now)

    def contents(self):
        return self.stand_in.copy()
