"""Decides when Python runs calls of a staged function without a lookup of their graphs, because graphs cost more time than
they save.

Python runs some calls of a function after a lookup that finds no valid graph, or after a run that contradicts an
assumption of its graph. Lookups and such runs take longer than a short call. So once a function has had calls that Python
ran, the time of its graphs is compared with the time of Python. If the last calls have lost time, the next ones are
skipped: Python runs them at once. The number of skipped calls doubles as long as this continues."""

#: The number of calls that are compared before the first calls are skipped, and between skipped calls.
FIRST_WINDOW, WINDOW = 8, 1

#: The number of skipped calls doubles at most this many times.
MOST_DOUBLINGS = 12

#: The calls that are not skipped lose at most this part of the time of the skipped ones, as far as it can be measured: a
#: lookup also slows down the next calls, because it displaces their code and data from the caches of the processor.
PART = 1 / 200

#: If Python has run none of the calls of this number of windows, it runs the next two calls, because its average time may be
#: out of date: it comes from the first calls. The number then doubles.
FIRST_INTERVAL = 16

#: This is not done if graphs save more than this part of the time of Python.
CERTAIN = 3 / 4

#: A time that is longer than this multiple of the average time of Python counts as this multiple: the process may have waited
#: for the processor.
LONGEST = 4

#: The weight of a call in the average time of calls that Python runs.
WEIGHT = 0.2


class Benefit:
    """The time that the graphs of one function have saved."""

    __slots__ = ("python", "saved", "calls", "doublings", "interval", "windows")

    def __init__(self):
        self.python = None  # the average time of a call that Python runs; None if there was no such call
        self.saved = 0.0  # the time that the calls of the window have saved
        self.calls = 0  # the number of calls in the window
        self.doublings = 0
        self.interval, self.windows = FIRST_INTERVAL, 0  # the windows since Python ran a call

    def ran_in_python(self, lost, seconds):
        """Records a call that Python ran in this time, and that took the time `lost` besides."""
        self._python_took(seconds, 1)
        self.saved -= min(lost, LONGEST * self.python)
        self.calls += 1

    def ran_a_graph(self, seconds):
        """Records a call that ran a graph."""
        if self.python is not None:
            self.saved += self.python - min(seconds, LONGEST * self.python)
            self.calls += 1

    def skipped(self, calls, seconds):
        """Records skipped calls, and the time of all of them."""
        self._python_took(seconds / calls, calls)

    def _python_took(self, seconds, calls):
        self.windows = 0
        before = seconds if self.python is None else self.python
        seconds = min(seconds, LONGEST * before)
        self.python = seconds + (before - seconds) * (1 - WEIGHT) ** calls

    def is_due(self):
        """Returns whether there are enough calls for `decided`."""
        return self.calls >= (WINDOW if self.doublings else FIRST_WINDOW)

    def decided(self, direct):
        """Returns the number of the next calls that are skipped. `direct` is the number of calls since the last decision whose
        graph ran without Python. Their time is not known; it is short."""
        lost = -(self.saved + self.python * direct)
        calls = self.calls + direct
        self.saved, self.calls = 0.0, 0
        if lost <= 0:
            self.doublings = max(0, self.doublings - 2)
            self.windows += 1
            if self.windows < self.interval or -lost > CERTAIN * self.python * calls:
                return 0
            self.interval *= 2
            return 2
        self.doublings = min(self.doublings + 1, MOST_DOUBLINGS)
        return min(1 << self.doublings, int(lost / (PART * self.python)))
