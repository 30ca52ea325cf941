"""The exceptions of this package, with the source position in the user's code."""

import linecache

from .record import placeholders


#: Functions that are called with each new exception of this package. A trace records the exceptions, because the user's
#: code may catch one that Python would not have raised (`except Exception:`).
observers = []


def _observe(error):
    for observer in observers:
        observer(error)

#: The remedy for code that needs values of a run.
IN_PYTHON = "\nhelp: compute this in a function with `@ag.do_not_convert` and call it with `ag.py_function`"


class AutographError(Exception):
    """An error at a source position in the user's code."""

    def __init__(self, message, span=None):
        message = placeholders.elided(message)
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


class NeedsPython(StagingError):
    """Code that only Python can run, and for which there is no simple remedy. Python runs the call, with a warning."""


class OuterHistory(StagingError):
    """A gradient that continues in the operations that computed a tensor before the call."""


class Caught(StagingError):
    """An exception of the graph is raised inside a `try`, which cannot catch it."""


class FallbackWarning(UserWarning):
    """Python runs a call because it cannot be staged. The message has the reason, with its line."""


class VerificationError(AutographError):
    """In shadow mode, a graph behaved differently from eager Python."""


class CheckpointError(AutographError):
    """A checkpoint that cannot be saved, read or restored. A restore that raises it has changed nothing."""


class ExportError(AutographError):
    """A staged function that cannot be exported to a format."""


class Assumed(Exception):
    """A run contradicts an assumption of the trace. Nothing has changed, so Python can run the call instead. If the
    assumption comes from profiled calls, `point` is its point of the program (`capture/profile.py`). If the run has had
    effects that Python must not repeat, `run` contains them (`operators/python_calls.py`)."""

    def __init__(self, message, point=None, run=None):
        super().__init__(message)
        self.point = point
        self.run = run


class ResultKindChanged(Exception):
    """A graph has called the Python function with this code, and the kind of its result differs from that in earlier
    calls."""

    def __init__(self, code):
        super().__init__(f"`{code.co_name}` returns values of different kinds")
        self.code = code


class OtherInput(TypeError):
    """An input of a graph has another type than when the function was traced. Guards compare tensors from outside by
    identity, and `model.double()` or `p.data = …` changes the type of a tensor. Nothing has run yet."""

    trace = None


class Signal(BaseException):
    """Ends a trace. It is a `BaseException`, so that `except Exception:` in the user's code does not catch it."""

    def __init__(self):
        super().__init__()
        _observe(self)


class RunInPython(Signal):
    """Ends the trace, because Python has to run this call. `reason` is the exception that ended the trace; the call may
    succeed in Python. If `lasts`, Python has to run all calls with such arguments."""

    def __init__(self, reason=None, lasts=False):
        super().__init__()
        self.reason, self.lasts = reason, lasts


class Decide(Signal):
    """Restarts the trace, with the condition at this span decided for the arguments of the call: code that depends on the
    condition cannot become part of a graph. If that code appends to a list from outside in a branch, `growing` is the list."""

    def __init__(self, span, growing=None):
        super().__init__()
        self.span, self.growing = span, growing


class Undecided(Signal):
    """Restarts the trace without decisions, because the function changes Python state or draws random numbers."""


class Refuted(Signal):
    """Restarts the trace with the other answer to a condition on sizes: the arguments of the call contradict the usual
    answer. `assumption` is the message and the span of its check. `examples` are the sizes and numbers of this call, as
    far as they are known (`Sizes.observed`)."""

    def __init__(self, assumption, examples):
        super().__init__()
        self.assumption = assumption
        self.examples = examples


class CheckAfterEffect(Signal):
    """Restarts the trace without assumptions at these points. Their checks follow output or calls of Python, so Python
    could not repeat a run in which such a check fails."""

    def __init__(self, points):
        super().__init__()
        self.points = points


class Unreachable(BaseException):
    """Ends a path of the trace. The following code is unreachable, because a staged statement raises on every path."""


class Restart(Signal):
    """Restarts the trace, with the state of this optimizer created at its beginning."""

    def __init__(self, optimizer):
        super().__init__()
        self.optimizer = optimizer


class RandomStateChanged(Signal):
    """Restarts the trace. The new trace compares the random number generators before and after each region, because the
    current trace has drawn from a generator."""


class Unreached(Signal):
    """Restarts the trace, in which a `backward` assigns no gradient to some leaves: the loss is computed from them, but no
    operation on the way has a derivative. `leaves` contains pairs of the number of the `backward` and the id of the leaf."""

    def __init__(self, leaves):
        super().__init__()
        self.leaves = leaves


class Unconverted(Signal):
    """Restarts the trace without converting a function that reads its variables by name, as `locals()` does."""


class Unroll(Signal):
    """Restarts the trace with a loop unrolled, because its body has changed an object that cannot be restored. `code` is the
    code of the body."""

    def __init__(self, code):
        super().__init__()
        self.code = code


class ColumnMissing(Signal):
    """Restarts the call with a column for this attribute of the nodes of a class, which the trace reads."""

    def __init__(self, kind, name):
        super().__init__()
        self.kind, self.name = kind, name


class Observed(Signal):
    """Restarts the call with columns, because an object among the arguments has turned out to be a node of a tree."""


class Unencoded(Signal):
    """Restarts the call with the nodes of these classes as ordinary objects, because the trace cannot use their columns."""

    def __init__(self, kinds, message, span):
        super().__init__()
        self.kinds, self.message, self.span = frozenset(kinds), message, span


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
