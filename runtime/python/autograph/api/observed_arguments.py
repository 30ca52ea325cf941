"""The types, shapes and numbers of arguments in profiled calls. If a type, shape or number was the same in all profiled
calls, it is assumed to be the same in later calls.

A number that varies is an input of the graph. If the code needs to know the number during tracing, there is a trace for
each value, as without speculation."""

from ..capture.profile import Point
from ..errors import Assumed
from ..tracing import signatures


class Arguments:
    """The kinds of arguments of one function. The `Point` of an assumption about an argument has the argument's name in
    place of a span."""

    def __init__(self):
        self.calls = {}  # (structure, kinds without the values of numbers, shapes) of calls
        self.numbers = {}  # (structure, index) -> the number in all calls; None if it varies
        self.fixed = set()  # (structure, index) of numbers that have to be known during tracing
        self.relaxed = set()  # points of assumptions that calls have contradicted
        self.texts = {}  # points of assumptions -> their text

    def note(self, structure, leaves, names):
        """Records the arguments of a profiled call."""
        found = numbers(leaves)
        for index, number in found.items():
            known = self.numbers.setdefault((structure, index), number)
            if not _same(known, number):
                self.numbers[structure, index] = None
        self._record(structure, leaves)
        self._describe(structure, leaves, names)

    def _record(self, structure, leaves):
        self.calls[structure, kinds(leaves), signatures.shapes(leaves)] = None

    def _describe(self, structure, leaves, names):
        """Updates the texts of the assumptions: they describe what has been the same in all calls so far."""
        found = {}
        for index, (name, leaf) in enumerate(zip(names, leaves)):
            found[Point("type", name)] = f"the type of `{name}` is {_type(leaf)}"
            if hasattr(leaf, "shape"):
                found[Point("shape", name)] = f"the shape of `{name}` is {list(leaf.shape)}"
            if _is_number(leaf):
                found[Point("value", name)] = f"`{name}` is {leaf}"
        is_first = len(self.calls) == 1 and not self.texts
        self.texts = found if is_first else {p: t for p, t in self.texts.items() if found.get(p) == t}

    def inputs(self, structure, leaves):
        """Returns the indexes of numbers that are inputs of the graph."""
        return {index for index in numbers(leaves) if self._is_input((structure, index))}

    def _is_input(self, key):
        return self.numbers.get(key, key) is None and key not in self.fixed

    def fix(self, structure, indexes):
        """Records that these numbers have to be known during tracing, because the code uses them in a way that a graph cannot
        represent."""
        self.fixed.update((structure, index) for index in indexes)

    def check(self, structure, leaves, names):
        """Called before a trace for new kinds of arguments. If they contradict an assumption, relaxes the first such
        assumption and raises `Assumed` for it."""
        known = [(types, shapes) for form, types, shapes in self.calls if form == structure]
        if not known:
            self._contradicted("structure", "the arguments")
        now, shapes = kinds(leaves), signatures.shapes(leaves)
        for index, name in enumerate(names):
            types_before = {types[index] for types, _ in known}
            if len(types_before) == 1 and now[index] not in types_before:
                self._contradicted("type", name)
            earlier = {other[index] for types, other in known if types[index] == now[index]}
            if len(earlier) == 1 and shapes[index] not in earlier:
                self._record(structure, leaves)
                self._contradicted("shape", name)
        for index, number in numbers(leaves).items():
            expected = self.numbers.setdefault((structure, index), number)
            if expected is not None and not _same(expected, number):
                self.numbers[structure, index] = None
                self._contradicted("value", names[index])
        self._record(structure, leaves)

    def _contradicted(self, kind, name):
        point = Point(kind, name)
        if point not in self.relaxed:
            self.relaxed.add(point)
            raise Assumed(self.text(point), point)

    def text(self, point):
        """Returns the text of the assumption at a point."""
        return self.texts.get(point) or f"the {point.kind} of `{point.span}` is the same as in an earlier call"

    def shapes(self, structure, leaves):
        """Returns the shapes of earlier calls with arguments of the same kinds, for `signatures.Family`."""
        now = structure, kinds(leaves)
        return [shapes for *earlier, shapes in self.calls if tuple(earlier) == now]


def numbers(leaves):
    """Returns the numbers among arguments that a graph can have as inputs, by index."""
    return {index: leaf for index, leaf in enumerate(leaves) if _is_number(leaf)}


def kinds(leaves):
    """Returns the kinds of arguments, without the values of numbers."""
    return signatures.kinds(leaves, numbers(leaves))


def _is_number(leaf):
    return type(leaf) is float or type(leaf) is int and not abs(leaf) >> 62


def _type(leaf):
    return str(getattr(leaf, "dtype", None) or type(leaf).__name__).removeprefix("torch.")


def _same(a, b):
    return type(a) is type(b) and repr(a) == repr(b)
