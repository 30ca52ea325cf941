"""`warnings.warn`: each run warns at the user's line, like the output of `print`."""

import os
import sys
import warnings

from ..capture.staging import current
from ..conversion import spans
from . import logs, python_calls
from .overloads import OVERLOADS

_HIDDEN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def warn(message, category=None, stacklevel=1, source=None, **_):
    """Like `warnings.warn`. If the function has replaced the filters of warnings, in `warnings.catch_warnings`, Python warns
    while tracing."""
    staging = current()
    category = type(message) if isinstance(message, Warning) else category or UserWarning
    file, line, scope = _caller(stacklevel)
    module, registry = scope.get("__name__") or "<unknown>", scope.setdefault("__warningregistry__", {})

    def write(message):
        python_calls.note_message(lambda: _key(category, message))
        warnings.warn_explicit(message, category, file, line, module, registry, source=source)

    if staging is not None and staging.filters is warnings.filters:
        logs.record(staging, write, (message,))
    elif staging is not None or not python_calls.was_logged_before(_key(category, message)):
        write(message)


def _key(category, message):
    """Returns what identifies a warning for `python_calls.was_logged_before`."""
    return category, str(message)


def _caller(level):
    """Returns the file, the line and the globals of the function that warns, or of one of its callers. Level 1 is the
    function itself. The frames of consecutive blocks of one converted function are one function."""
    found, previous, frame = None, None, sys._getframe(2)
    while frame is not None and level > 0:
        file = frame.f_code.co_filename
        if spans.is_converted_text(file):
            if file != previous:
                found, level = (*spans.of_frame(frame)[:2], frame.f_globals), level - 1
            previous = file
        elif not file.startswith(_HIDDEN):
            found, previous, level = (file, frame.f_lineno, frame.f_globals), None, level - 1
        frame = frame.f_back
    return found or ("<unknown>", 0, {})


OVERLOADS[warnings.warn] = warn
