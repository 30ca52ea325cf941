"""`@ag.function(fallback="eager")`: calls that cannot be staged run in Python, and are counted by reason."""

import threading
import traceback
from contextlib import contextmanager

from .._runtime import resume_cached_calls, suspend_cached_calls
from ..errors import AutographError, FallbackWarning, StagingError, located
from ..operators.python_calls import PythonCall
from ..tracing.tracebacks import warn

#: After this many consecutive signatures that cannot be staged, a function is no longer traced for new signatures.
MAX_REFUSALS = 5


class _Local(threading.local):
    depth = 0  # the nesting depth of `inherited` blocks in this thread
    calls = 0  # the number of calls of staged functions with a fallback in this thread


_LOCAL = _Local()


def checked(fallback):
    """Validates the argument `fallback` of `function`."""
    if fallback is not None and fallback != "eager":
        raise ValueError(f"`fallback` is 'eager' or None, not {fallback!r}")
    return fallback


def is_inherited():
    """Returns whether Python runs a function with a fallback in this thread. Then the staged functions that it calls have a
    fallback too."""
    return _LOCAL.depth > 0


def note_call():
    """Counts a call of a staged function with a fallback. Returns the number of such calls in this thread."""
    _LOCAL.calls += 1
    return _LOCAL.calls


@contextmanager
def inherited():
    """In this block, all staged functions that are called have a fallback."""
    _LOCAL.depth += 1
    suspend_cached_calls()
    try:
        yield
    finally:
        resume_cached_calls()
        _LOCAL.depth -= 1


class Refused(Exception):
    """Calls with this key cannot be staged. `reason` is the error of the trace, or only its text if an earlier call was
    refused."""

    def __init__(self, key, reason):
        super().__init__()
        self.key = key
        self.reason = reason


class Fallbacks:
    """The calls of one staged function that Python runs. `error` is the reason why the function can never be staged;
    None if it may be staged."""

    def __init__(self, error=None):
        self.never = None if error is None else str(error)
        self.counts = {}  # reason -> number of calls
        self.refused = {}  # key of a call -> the reason why it cannot be staged
        self.python_calls = {}  # code of a function that graphs call -> PythonCall
        self.in_a_row = 0
        self._reported = set()
        self._last = None, None  # an error that was a reason, and its text
        self._not_callable = set()  # code of functions that graphs cannot call

    def reason(self, key):
        """Returns the reason why calls with this key are not staged; None if such calls are staged."""
        found = self.never or self.refused.get(key)
        if found is None and self.in_a_row >= MAX_REFUSALS:
            return next(reversed(self.refused.values()))
        return found

    def refuse(self, key, reason):
        if self.reason(key) is None:
            self.refused[key] = reason
            self.in_a_row += 1

    def candidates(self, refused):
        """Returns the code objects of functions that a graph could call in Python, so that the rest of the function is
        staged."""
        if refused is None or self.never or not isinstance(refused.reason, StagingError):
            return []
        codes = [function.__code__ for function in refused.reason.calls[:-1]]
        return [code for code in codes if code not in self._not_callable and code not in self.python_calls]

    def select_python_call(self, reason, candidates, kinds):
        """Selects the innermost candidate that a graph can call; the next trace records a call of Python for it. `kinds`
        maps the code of each candidate to the kind of its results. Returns whether there was such a candidate."""
        for code in candidates:
            kind = kinds.get(code)
            if kind is not None:
                self.python_calls[code] = PythonCall(kind, lambda: self.count(reason))
                return True
            if code in kinds:
                self._not_callable.add(code)
        return False

    def refuse_python_call(self, code):
        self._not_callable.add(code)
        self.python_calls.pop(code, None)

    def count(self, reason, calls=1):
        self.counts[reason] = self.counts.get(reason, 0) + calls

    def note(self, name, reason):
        """Counts a call, and warns about each reason once. Returns the text of the reason."""
        text = str(reason) if reason is not self._last[0] else self._last[1]
        if isinstance(reason, AutographError):  # the text contains a line of a file
            self._last = reason, text
        self.count(text)
        if text not in self._reported:
            self._reported.add(text)
            warn(f"a call of `{name}` runs in Python, which is slow: {text}", FallbackWarning)
        return text


def reason_of(reason, place):
    """Returns the text of a reason, with its line. For an error without a line, this is the line of the function, whose span
    is `place`."""
    if isinstance(reason, AutographError):
        return str(reason) if reason.span is not None else f"{reason.message}\n{located(place)}" if place else str(reason)
    if not isinstance(reason, BaseException):
        return str(reason)
    text = f"{type(reason).__name__}: {reason}"
    lines = traceback.extract_tb(reason.__traceback__)
    return f'{text}\n  File "{lines[-1].filename}", line {lines[-1].lineno}\n    {lines[-1].line}' if lines else text
