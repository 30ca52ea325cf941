"""The numbers in attributes and variables that profiled calls could read. A number that varies between the calls is an input
of the graph from the first trace on. All other numbers are guarded, as without speculation."""

from ..capture import heap
from ..capture.objects import Objects


class Attributes:
    """The numbers that the profiled calls of one function could read."""

    def __init__(self):
        self.functions = {}  # id -> a function that the profiled calls have entered
        self.seen = {}  # key of a place -> its number
        self.varying = {}  # key of a place -> the place of a number that varies

    def note(self, function, leaves):
        """Records the numbers before or after a call."""
        for place, number in _numbers([function, *self.functions.values()], leaves):
            if self.seen.setdefault(place.key(), number) != number:
                self.varying[place.key()] = place


def _numbers(functions, leaves):
    """Yields the numbers that functions can reach by the names in their code, with their places."""
    objects = Objects()
    for function in functions:
        objects.entered(function)
        objects.watch(function)
    for leaf in leaves:
        objects.watch(leaf)
    for entry in list(objects.entries.values()):
        if isinstance(entry, heap.Attributes):
            for name in objects.names_of(entry.owner) & entry.state.keys():
                if _is_number(entry.state[name]):
                    yield entry.place(name), entry.state[name]
        elif isinstance(entry, heap.Variable) and _is_number(entry.state):
            yield entry.place, entry.state


def _is_number(value):
    return type(value) in (int, float)
