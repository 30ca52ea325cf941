"""Lists and dictionaries among the arguments: staged code changes copies, and a run changes the caller's objects."""

import collections

from ..capture.places import same_items
from ..capture.rows import StandIn
from ..operators.values import List

_KINDS = (List, list, dict, collections.defaultdict, collections.OrderedDict)


def containers_in(value):
    """Yields the lists and dictionaries in a structure. Structures of the same form have the same order."""
    if type(value) in _KINDS:
        yield value
    elif not isinstance(value, tuple) or isinstance(value, StandIn):
        return
    for element in value.values() if isinstance(value, dict) else value:
        yield from containers_in(element)


def copies(value):
    """Returns the structure with a `List` in place of each list. Changes the dictionaries in it in place."""
    if type(value) is list:
        return List(map(copies, value))
    if type(value) in _KINDS:
        value.update((key, copies(element)) for key, element in value.items())
    elif isinstance(value, tuple) and not isinstance(value, StandIn):
        elements = map(copies, value)
        return type(value)(*elements) if hasattr(value, "_fields") else tuple(elements)
    return value


class Container:
    """A list or dictionary among the arguments: the copy that staged code changes, and its items before the trace."""

    def __init__(self, staging, copy):
        staging.objects.watch_argument(copy)
        self.copy = copy
        self.before = copy.copy()

    def is_changed(self):
        now = self.copy
        if isinstance(now, dict):
            return list(now) != list(self.before) or not same_items(self.before, now)
        return now.value is not None or not same_items(self.before, now)

    def contents(self):
        return self.copy.copy()
