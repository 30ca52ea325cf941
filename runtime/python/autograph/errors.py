"""What can go wrong, said at the user's line. No frame of this package is shown."""

import linecache
import os
import types

import torch

from .capture import spans, texts


class AutographError(Exception):
    """An error at a place of the user's code."""

    def __init__(self, message, span=None):
        message = texts.shown(message)
        super().__init__(message)
        self.message = message
        self.span = span

    def __str__(self):
        return self.message if self.span is None else f"{self.message}\n{located(self.span)}"


class ConversionError(AutographError):
    """A function that was asked to be converted cannot be."""


class StagingError(AutographError):
    """Code that cannot become part of a graph."""


class Dead(BaseException):
    """The code after this point is never reached: it raised on every path of a staged branch."""


class Restart(BaseException):
    """The trace has to start anew, with the state of this optimizer made at its beginning."""

    def __init__(self, optimizer):
        super().__init__()
        self.optimizer = optimizer


def located(span):
    """`File "m.py", line 3` and the text of the line, as in a traceback."""
    file, line, column, end_line, end_column = span
    text = linecache.getline(file, line).rstrip("\n")
    shown = text.strip()
    place = f'  File "{file}", line {line}'
    if not shown:
        return place
    indent = len(text) - len(text.lstrip())
    end = end_column if end_line == line else len(text)
    marks = " " * max(column - indent, 0) + "^" * max(end - max(column, indent), 1)
    return f"{place}\n    {shown}\n    {marks}"


_HIDDEN = tuple(os.path.dirname(os.path.abspath(path)) + os.sep for path in (__file__, torch.__file__))


def in_user_code(error):
    """The error with the user's frames alone: of converted code the lines it comes from, of ours and torch's none."""
    entries = []
    traceback = error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        span = spans.of_entry(traceback)
        if span is not None:
            name = spans.function_name(code.co_filename)
            if entries and entries[-1][3] == code.co_filename:  # a block of the function before it
                entries.pop()
            entries.append((span[0], span[1], name, code.co_filename))
        elif not spans.is_converted_text(code.co_filename) and not code.co_filename.startswith(_HIDDEN):
            entries.append((traceback, None, None, None))
        traceback = traceback.tb_next
    chain = None
    _rename(error)
    for file, line, name, _ in reversed(entries):
        entry = file if line is None else _entry_at(file, line, name)
        chain = types.TracebackType(chain, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return error.with_traceback(chain)


def _rename(error):
    """Says `Tensor` where Python names the stand-in of one."""
    if any(isinstance(arg, str) and "FakeTensor" in arg for arg in error.args):
        error.args = tuple(arg.replace("FakeTensor", "Tensor") if isinstance(arg, str) else arg for arg in error.args)


def at_places(error):
    """An error of a run with the user's lines that led to it."""
    chain = None
    for function, file, line, *_ in getattr(error, "places", ()):
        entry = _entry_at(file, line, function.partition(".")[0])
        chain = types.TracebackType(chain, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return error.with_traceback(chain)


def _entry_at(file, line, name):
    """An entry of a traceback that is shown as this line of the user's."""
    code = compile("\n" * (line - 1) + "raise _Here", file, "exec").replace(co_name=name)
    try:
        exec(code, {"_Here": _Here})
    except _Here as error:
        return error.__traceback__.tb_next


class _Here(Exception):
    """Raised to get a frame."""
