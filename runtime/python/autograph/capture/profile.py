"""Profiles of calls that Python runs: which path through the program each call has taken.

The path depends on conditions, loops, and integers that are read from tensors. Each of them is a *point* of the
program. Each *execution* of a point has an *outcome*:

    if x.sum() > 0:          # True or False
    while error > 1e-3:      # the number of iterations
    for row in rows:         # the number of iterations, and whether the loop ended without `break`
    n = int(lengths.max())   # the integer

The operators that converted code calls report the outcomes to the *observer* of the thread: the profile of a call, or
the assumptions of a trace (`assumptions.py`). Most of the time a thread has no observer.
"""

import threading
from contextlib import contextmanager
from typing import NamedTuple

from .._runtime import resume_cached_calls, suspend_cached_calls
from ..conversion import spans


class _Local(threading.local):
    observer = None


_LOCAL = _Local()

#: The maximum number of different outcomes in the `Sequence` of a point.
LONGEST = 64


class Point(NamedTuple):
    """A point of a program: its kind (`if`, `and`, `or`, `while`, `for`, `number`), and its span in the source."""

    kind: str
    span: tuple


class Trips(NamedTuple):
    """How often the body of a `for` ran, and whether the loop ended because its iterable was exhausted."""

    count: int
    is_complete: bool


class Sequence(tuple):
    """The outcomes of a point that runs several times in a call. The outcomes differ, but all calls have the same
    sequence of them."""

    __slots__ = ()


class Execution:
    """One execution of a point. `expected` is the outcome that a trace assumes; None if it assumes nothing.
    `report(outcome)` adds the outcome to a profile."""

    __slots__ = ("point", "expected", "report")

    def __init__(self, point, expected=None, report=lambda outcome: None):
        self.point = point
        self.expected = expected
        self.report = report


@contextmanager
def observing(observer):
    """Converted code in this block reports to an observer: its method `execution(point)` returns an `Execution` or
    None."""
    before = _LOCAL.observer
    _LOCAL.observer = observer
    suspend_cached_calls()
    try:
        yield
    finally:
        resume_cached_calls()
        _LOCAL.observer = before


def is_active():
    """Returns whether a call is being profiled in this thread."""
    return isinstance(_LOCAL.observer, Profile)


def entered(function):
    """Records a converted function that a profiled call has entered."""
    if is_active():
        _LOCAL.observer.functions[id(function)] = function


def execution(kind):
    """Returns the execution of the point that converted code executes now; None if the thread has no observer."""
    observer = _LOCAL.observer
    if observer is None:
        return None
    span = spans.current()
    return None if span is None else observer.execution(Point(kind, span))


class Profile:
    """The profile of one call: the outcomes of each point, in order. An outcome is None if its execution ended with an
    exception."""

    def __init__(self):
        self.points = {}
        self.functions = {}  # id -> a converted function that was called

    def execution(self, point):
        outcomes = self.points.setdefault(point, [])
        index = len(outcomes)
        outcomes.append(None)

        def report(outcome):
            outcomes[index] = outcome

        return Execution(point, None, report)


def constants(profiles):
    """Returns the points whose outcomes are the same in all profiles, as a dictionary. A point with one outcome maps to this
    outcome; a point with different outcomes in a call maps to their `Sequence`."""
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
