"""The exceptions of this package, with the source position in the user's code."""

import linecache

from .record import marks


#: Called with each new exception of a trace. The user's code may catch it, as in `except Exception:`, although Python would
#: not have raised it.
observers = []


def _observe(error):
    for observer in observers:
        observer(error)


class AutographError(Exception):
    """An error at a source position in the user's code."""

    def __init__(self, message, span=None):
        message = marks.elided(message)
        super().__init__(message)
        self.message = message
        self.span = span
        _observe(self)

    def __str__(self):
        return self.message if self.span is None else f"{self.message}\n{located(self.span)}"


class ConversionError(AutographError):
    """A function cannot be converted."""


class StagingError(AutographError):
    """Code that cannot become part of a graph."""

    def __init__(self, message, span=None):
        super().__init__(message, span)
        self.calls = []  # the functions that the trace was in, innermost first


class FallbackWarning(UserWarning):
    """Python runs a call that was to run as a graph. The message has the reason, with its line."""


class VerificationError(AutographError):
    """In shadow mode, a graph behaved differently from eager Python."""


class CheckpointError(AutographError):
    """A checkpoint that cannot be saved, read or restored. A restore that raises it has changed nothing."""


class Assumed(Exception):
    """A run does not satisfy what tracing has assumed. Nothing has changed, so Python can run the call instead."""


class Misfit(Exception):
    """A Python function that a graph calls, with this code, has returned a value of another kind than before."""

    def __init__(self, code):
        super().__init__(f"`{code.co_name}` returns values of different kinds")
        self.code = code


class Signal(BaseException):
    """Ends a trace."""

    def __init__(self):
        super().__init__()
        _observe(self)


class Eager(Signal):
    """Python has to run this call: a trace cannot tell what it does. `reason` is the exception of the trace; Python need not
    raise one."""

    def __init__(self, reason=None):
        super().__init__()
        self.reason = reason


class Decide(Signal):
    """The trace has to start again, with the condition in this place decided for the arguments of the call: code that
    depends on it cannot become part of a graph."""

    def __init__(self, span):
        super().__init__()
        self.span = span


class Undecided(Signal):
    """The trace has to start again without decisions: the function changes Python state or draws numbers."""


class Unreachable(BaseException):
    """The code after this point is not reachable: a staged branch before it raised on every path."""


class Restart(Signal):
    """Restarts the trace, with the state of this optimizer created at its beginning."""

    def __init__(self, optimizer):
        super().__init__()
        self.optimizer = optimizer


class Drawn(Signal):
    """Restarts the trace, comparing random number generators before and after each region, because the first trace has
    drawn from one of them."""


class Unconverted(Signal):
    """The trace has to start again, without the conversion of a function that reads its variables by name."""


class Unroll(Signal):
    """Restarts the trace, with the loop with this body unrolled, because the first trace has changed an object that
    cannot be restored."""

    def __init__(self, code):
        super().__init__()
        self.code = code


def located(span):
    """`File "m.py", line 3` and the text of the line, as in a traceback."""
    file, line, column, end_line, end_column = span
    text = linecache.getline(file, line).rstrip("\n")
    stripped = text.strip()
    location = f'  File "{file}", line {line}'
    if not stripped:
        return location
    indent = len(text) - len(text.lstrip())
    end = end_column if end_line == line else len(text)
    carets = " " * max(column - indent, 0) + "^" * max(end - max(column, indent), 1)
    return f"{location}\n    {stripped}\n    {carets}"
