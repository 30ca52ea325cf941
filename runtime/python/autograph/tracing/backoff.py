"""Skips attempts that fail again and again: Python runs the calls instead."""

#: The number of skipped attempts doubles at most this many times.
MOST_DOUBLINGS = 10

#: Repeated attempts that fail take at most this part of the time of the calls that Python runs instead. The n-th of them takes at
#: most an n-th of it.
PART = 1 / 30


class Backoff:
    """The outcomes of repeated attempts: the numbers of successes and of consecutive failures, and the reason of the last
    failure. After `tolerated` consecutive failures, attempts are skipped: first twice `first`, then twice as many after
    each further failure. If attempts fail even after that, none follows until Python has run calls for the time `owed`,
    because tracing may take hundreds of times as long as the call."""

    __slots__ = ("tolerated", "first", "successes", "failures", "skips", "owed", "reason")

    def __init__(self, tolerated=3, first=1):
        self.tolerated, self.first = tolerated, first
        self.successes = self.failures = self.skips = 0
        self.owed = 0.0
        self.reason = None

    def should_try(self):
        """Returns whether there is an attempt this time. Otherwise, counts a skipped attempt."""
        if self.skips:
            self.skips -= 1
            return False
        return self.owed <= 0

    def passed(self, seconds, skipped):
        """Records that Python has run calls for this time, and that there was no attempt in this number of them."""
        self.owed -= seconds
        self.skips = max(0, self.skips - skipped)

    def try_now(self):
        """Ends the skipping of attempts."""
        self.skips, self.owed = 0, 0.0

    def succeeded(self, result):
        """Records a success, and returns its result."""
        self.successes += 1
        self.failures = 0
        return result

    def failed(self, reason, seconds=0.0):
        """Records a failure after attempts that took this time."""
        self.reason = reason
        self.failures = min(self.failures + 1, self.tolerated + MOST_DOUBLINGS)
        if self.failures > self.tolerated:
            self.skips = self.first << (self.failures - self.tolerated)
        if self.failures > self.tolerated + 1:
            self.owed = seconds / PART * (self.failures - self.tolerated - 1)
