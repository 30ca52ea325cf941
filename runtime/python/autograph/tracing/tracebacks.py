"""Tracebacks that show only the user's code, without frames of this package, of torch and of converted code."""

import os
import sys
import types
import warnings

import torch

from ..conversion import spans

_HIDDEN = tuple(os.path.dirname(os.path.abspath(path)) + os.sep for path in (os.path.dirname(__file__), torch.__file__))


def in_user_code(error):
    """Returns the error with a traceback of the user's frames only. Frames of converted code become frames of the original
    lines; frames of this package and of torch are dropped."""
    entries = []
    traceback = error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        span = spans.of_entry(traceback)
        if span is not None:
            name = spans.function_name(code.co_filename)
            if entries and entries[-1][3] == code.co_filename:  # the enclosing function of this block
                entries.pop()
            entries.append((span[0], span[1], name, code.co_filename))
        elif _is_users(code):
            entries.append((traceback, None, None, None))
        traceback = traceback.tb_next
    chain = None
    _rename(error)
    for file, line, name, _ in reversed(entries):
        entry = file if line is None else _entry_at(file, line, name)
        chain = types.TracebackType(chain, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return error.with_traceback(chain)


def _rename(error):
    """Replaces `FakeTensor` by `Tensor` in the message."""
    if any(isinstance(arg, str) and "FakeTensor" in arg for arg in error.args):
        error.args = tuple(arg.replace("FakeTensor", "Tensor") if isinstance(arg, str) else arg for arg in error.args)


def line_outside(frame=None):
    """Returns the span of the running line of the user's code, the innermost one on the stack."""
    frame = frame or sys._getframe(1)
    while frame is not None:
        if _is_users(frame.f_code):
            return frame.f_code.co_filename, frame.f_lineno, 0, frame.f_lineno, 0
        frame = frame.f_back
    return None


def warn(message, category=UserWarning):
    """Warns at the running line of the user's code, the innermost one on the stack."""
    level, frame = 2, sys._getframe(1)
    while frame is not None and not _is_users(frame.f_code):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _is_users(code):
    return not spans.is_converted_text(code.co_filename) and not code.co_filename.startswith(_HIDDEN)


def with_source_traceback(error, locations=None):
    """Returns an error of a run, with a traceback of the user's lines that led to it. `locations` are those lines; None for
    the locations of the error."""
    chain = None
    for function, file, line, *_ in getattr(error, "locations", ()) if locations is None else locations:
        entry = _entry_at(file, line, function.partition(".")[0])
        chain = types.TracebackType(chain, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return error.with_traceback(chain)


def span_of_error(error):
    """Returns the span of the line that raised an error of a run; None if it has no line."""
    locations = getattr(error, "locations", ())
    return tuple(locations[0][1:]) if locations else None


def _entry_at(file, line, name):
    """Returns a traceback entry that is shown as this line of the user's file."""
    code = compile("\n" * (line - 1) + "raise _Here", file, "exec").replace(co_name=name)
    try:
        exec(code, {"_Here": _Here})
    except _Here as error:
        return error.__traceback__.tb_next


class _Here(Exception):
    """Raised only to create a traceback entry."""
