"""What a call did at the points where its path through the program is decided: a profile of calls that Python runs.

Converted code *passes* such a point each time it decides a condition, runs a loop, or reads an integer from a tensor:

    if x.sum() > 0:          # True or False
    while error > 1e-3:      # the number of iterations
    for row in rows:         # the number of iterations, and whether the loop ended by itself: no `break`
    n = int(lengths.max())   # the integer

The operators that converted code calls report it to the *observer* of the thread: the profile of a call, or what a trace
assumes (`assumptions.py`). Most of the time there is none.
"""

import threading
from contextlib import contextmanager
from typing import NamedTuple

from ..conversion import spans

_LOCAL = threading.local()

#: If a call passes a point more often, with different outcomes, the point is not constant.
LONGEST = 64


class Point(NamedTuple):
    """A point of a program: the kind of the decision (`if`, `and`, `or`, `while`, `for`, `number`), and its place."""

    kind: str
    span: tuple


class Trips(NamedTuple):
    """How often the body of a `for` ran, and whether the loop ended because its iterable did."""

    count: int
    is_complete: bool


class Sequence(tuple):
    """The outcomes of a point that differ from each other, but are the same in each call."""

    __slots__ = ()


class Passage:
    """One execution of a point. `expected` is the outcome that a trace assumes; None if it assumes nothing. `done` reports
    the outcome."""

    __slots__ = ("point", "expected", "done")

    def __init__(self, point, expected=None, done=lambda outcome: None):
        self.point = point
        self.expected = expected
        self.done = done


@contextmanager
def observing(observer):
    """Converted code in this block reports to an observer: its method `passed(point)` returns a `Passage` or None."""
    before = getattr(_LOCAL, "observer", None)
    _LOCAL.observer = observer
    try:
        yield
    finally:
        _LOCAL.observer = before


def is_active():
    """Whether a call is being profiled in this thread."""
    return isinstance(getattr(_LOCAL, "observer", None), Profile)


def entered(function):
    """Notes that a call which is being profiled calls a converted function."""
    if is_active():
        _LOCAL.observer.functions[id(function)] = function


def passed(kind):
    """The passage of the point that converted code executes now; None if nothing observes it."""
    observer = getattr(_LOCAL, "observer", None)
    if observer is None:
        return None
    span = spans.current()
    return None if span is None else observer.passed(Point(kind, span))


class Profile:
    """One call: the outcomes at each point, in the order in which it was passed. The outcome of a passage that ended with
    an exception is None."""

    def __init__(self):
        self.points = {}
        self.functions = {}  # id -> a converted function that was called

    def passed(self, point):
        outcomes = self.points.setdefault(point, [])
        index = len(outcomes)
        outcomes.append(None)

        def done(outcome):
            outcomes[index] = outcome

        return Passage(point, None, done)


def constants(profiles):
    """What was the same in all profiles: a dictionary from each point to its outcome if it was always the same one, or to
    the `Sequence` of its outcomes."""
    found = {}
    for point in {point: None for profile in profiles for point in profile.points}:
        calls = [profile.points[point] for profile in profiles if point in profile.points]
        first = calls[0]
        if any(None in outcomes for outcomes in calls):
            continue
        if all(outcome == first[0] for outcomes in calls for outcome in outcomes):
            found[point] = first[0]
        elif len(first) <= LONGEST and all(outcomes == first for outcomes in calls):
            found[point] = Sequence(first)
    return found
