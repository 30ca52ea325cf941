"""The lists and dictionaries among the arguments: staged code changes stand-ins, a run what the caller has given."""

import collections

from .operators.lists import List

_KINDS = (list, List, dict, collections.OrderedDict, collections.defaultdict)


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
            return list(now) != list(self.before) or any(now[key] is not old for key, old in self.before.items())
        return now.value is not None or len(now) != len(self.before) or any(a is not b for a, b in zip(now, self.before))

    def contents(self):
        return self.stand_in.copy()


def refill(container, value):
    """Makes a list or dictionary of the caller what the graph has made of it."""
    container.clear()
    (container.extend if isinstance(container, list) else container.update)(value)
