"""Speculation: `@ag.function(speculate=True)`. The graphs of a function assume that its calls are like the profiled calls.

The first calls run in Python and are profiled. In later calls,

- the outcomes of conditions, loops and numbers that were the same in each call are checked in the graph
  (`capture/assumptions.py`);
- the types and shapes of arguments and the values of Python numbers are part of the key of a trace, or guarded
  (`observed_arguments.py`, `observed_attributes.py`).

A call that contradicts an assumption runs in Python, and the assumption is *relaxed*: the next trace does not make it. So
there are at most as many such calls as assumptions.
"""

from collections import Counter
from contextlib import contextmanager
from typing import NamedTuple

from ..capture import profile
from ..capture.assumptions import described
from ..capture.profile import Point
from ..errors import Assumed
from .observed_arguments import Arguments
from .observed_attributes import Attributes


#: The number of calls that are profiled.
PROFILED = 3

#: Some code cannot be staged without an assumption. Then the assumption is made again, for the arguments of the next call.
#: After this many calls that contradict it, Python runs all calls.
MAX_FAILURES = 3


class Assumption(NamedTuple):
    """An assumption about the calls of a function, with its position in the source. `state` is `assumed` or `relaxed`;
    `failures` is the number of calls that have contradicted it."""

    text: str
    file: str | None
    line: int | None
    state: str
    failures: int

    def __str__(self):
        place = f" in {self.file}:{self.line}" if self.file is not None else ""
        return f"{self.text}{place}: {self.state}, {self.failures} failures"


class Speculation:
    """The assumptions of one function."""

    def __init__(self):
        self.is_profiling = True
        self.arguments = Arguments()
        self.attributes = Attributes()
        self.expected = {}  # point -> assumed outcome, except for relaxed assumptions
        self._outcomes = {}  # point -> assumed outcome, including relaxed assumptions
        self._failures = Counter()
        self._texts = {}  # points of other assumptions that have failed -> their text
        self._profiles = []

    @contextmanager
    def profiled(self, function, structure, leaves, names):
        """Profiles the call in this block."""
        self.arguments.note(structure, leaves, names)
        self.attributes.note(function, leaves)
        found = profile.Profile()
        self._profiles.append(found)
        try:
            with profile.observing(found):
                yield
        finally:
            self.attributes.functions.update(found.functions)
            if len(self._profiles) == PROFILED:
                self.attributes.note(function, leaves)
                self._outcomes = profile.constants(self._profiles)
                self.expected = dict(self._outcomes)
                self.is_profiling = False

    def relax(self, assumed):
        """Relaxes the assumption that a call has contradicted. Returns the reason for a warning."""
        point = assumed.point or str(assumed)
        self._failures[point] += 1
        self._texts[point] = str(assumed)
        self.expected.pop(point, None)
        return f"it contradicts an assumption from earlier calls: {assumed}"

    def is_hopeless(self, assumed):
        """Returns whether too many calls have contradicted an assumption that cannot be relaxed."""
        return assumed.point is None and self._failures[str(assumed)] >= MAX_FAILURES

    def table(self, traces):
        """Returns a list of the assumptions. An assumption about the path through the program is listed only if a graph checks
        it or a call has contradicted it."""
        checked = [point for trace in traces for point in trace.points.values()]
        points = dict.fromkeys([*self.arguments.texts, *checked, *self._failures])
        return [self._row(point) for point in points]

    def _row(self, point):
        file, line, text = None, None, self._texts.get(point, "").partition("\n")[0]
        if point in self._outcomes:
            text, (file, line, *_) = described(point.kind, self._outcomes[point]), point.span
        failures = self._failures[point]
        is_relaxed = failures > 0 and isinstance(point, Point)
        return Assumption(text or self.arguments.text(point), file, line, "relaxed" if is_relaxed else "assumed", failures)


def contradicted(place):
    """Returns the error for a number in a variable or attribute that has changed."""
    return Assumed(f"`{place}` is the same number in each call", Point("value", place.key()))
