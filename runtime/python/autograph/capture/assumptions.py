"""The assumptions of a trace: points of the program are assumed to have the same outcomes as in the profiled calls
(`profile.py`).

A condition that is assumed to be true is not staged: the trace records a check, and traces only this branch. A loop is
unrolled, with a check of each condition. A number becomes a constant, also with a check.

    if x.sum() > 0:                          check x.sum() > 0
        x = x * 2              becomes       x = x * 2
    else:
        x = x - 1

A check that fails ends the run. The run has not changed anything yet: its results and writes are applied at its end,
and no check comes after an effect such as output.
"""

from collections import Counter

from ..errors import located
from ..record.ops import ASSERT, NOT
from ..record.types import BOOL
from .profile import Execution, Sequence, Trips

#: Loops with more iterations are not unrolled.
MAX_TRIPS = 64

#: In a graph with more nodes, no loop is unrolled.
MAX_NODES = 5000


class Assumptions:
    """The assumptions of one trace. `expected` contains the outcomes of points, as returned by `profile.constants`."""

    def __init__(self, staging, expected):
        self.staging = staging
        self.expected = expected
        self.made = {}  # the message of a check -> its point
        self.is_late = False  # whether the trace has had an effect that cannot be undone
        self._counts = Counter()

    def execution(self, point):
        outcome = self.expected.get(point)
        if isinstance(outcome, Sequence):
            outcome = self._next(point, outcome)
        if self.is_late or outcome is None or self._is_long(point.kind, outcome):
            return None
        return Execution(point, outcome)

    def _next(self, point, outcomes):
        """Returns the next of several outcomes. Returns None in a region, because a trace executes the points of regions in
        another order than a run."""
        if self.staging.depth:
            return None
        index = self._counts[point]
        self._counts[point] += 1
        return outcomes[index] if index < len(outcomes) else None

    def _is_long(self, kind, outcome):
        """Returns whether the point is a loop that is too long to be unrolled."""
        count = outcome if kind == "while" else outcome.count if kind == "for" else 0
        return count > MAX_TRIPS or count > 1 and len(self.staging.record.entry.nodes) > MAX_NODES

    def check(self, execution, flag, answer):
        """Records the check that a staged boolean has this value. Returns the value."""
        if isinstance(flag, bool):
            return flag
        message = f"{described(execution.point.kind, execution.expected)}\n{located(execution.point.span)}"
        self.made[message] = execution.point
        truth = flag if answer else self.staging.emit(NOT, [flag], [BOOL])[0]
        self.staging.emit(ASSERT, [truth, message], [])
        return answer


def described(kind, outcome):
    """Returns the text of an assumption."""
    if isinstance(outcome, Sequence):
        return f"{_NAMES[kind]} {', '.join(map(_short, outcome[:8]))}{', …' if len(outcome) > 8 else ''} in each call"
    return f"{_NAMES[kind]} {_short(outcome)}"


_NAMES = {
    "if": "the condition is", "and": "the first operand is", "or": "the first operand is", "number": "the number is",
    "while": "the number of iterations is", "for": "the number of iterations is",
}  # fmt: skip


def _short(outcome):
    return str(outcome.count if isinstance(outcome, Trips) else outcome)
