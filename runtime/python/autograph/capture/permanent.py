"""Changes that could not be undone if a trace were abandoned: of files, other processes, output, positions of iterators,
and objects of other libraries. While a trace may be abandoned, code that would make such a change raises an error."""

import contextlib
import io
import logging
import os
import sys
import threading
import types

from ..conversion import spans
from ..errors import StagingError
from . import contents

_LOCAL = threading.local()


def are_refused():
    """Returns whether the active trace of this thread must not make such changes."""
    return getattr(_LOCAL, "are_refused", False)


def refuse(what):
    """Ends the trace, because the running code would make such a change. Changes during an import are allowed, because
    Python does not import a module twice."""
    if _is_import():
        return
    raise StagingError(f"{what}: a trace cannot undo this", spans.current())


@contextlib.contextmanager
def refused():
    """Refuses such changes in this block."""
    before = are_refused(), sys.stdout, sys.stderr, logging.Logger.handle
    _watch_events()
    _LOCAL.are_refused = True
    sys.stdout, sys.stderr = _Output(sys.stdout), _Output(sys.stderr)
    logging.Logger.handle = _logged(logging.Logger.handle)
    try:
        yield
    finally:
        _LOCAL.are_refused, sys.stdout, sys.stderr, logging.Logger.handle = before


@contextlib.contextmanager
def allowed():
    """Allows such changes in this block."""
    before, _LOCAL.are_refused = are_refused(), False
    try:
        yield
    finally:
        _LOCAL.are_refused = before


class _Output(io.TextIOBase):
    """Replaces a standard stream while output is refused. Other threads and warnings can still write."""

    def __init__(self, file):
        super().__init__()
        self._file = file

    def write(self, text):
        if are_refused() and sys._getframe(1).f_globals.get("__name__") != "warnings":
            refuse("code that is not converted prints")
        return self._file.write(text)

    def writelines(self, lines):
        for line in lines:
            self.write(line)

    def flush(self):
        self._file.flush()

    def __getattr__(self, name):
        return getattr(self._file, name)


def _logged(handle):
    def called(logger, record):
        if are_refused() and not record.name.startswith("torch"):
            refuse("this writes to a log")
        return handle(logger, record)

    return called


# Calls of functions that are not written in Python.


def check_call(function):
    """Refuses a method call on an object whose class is not written in Python, unless the object is immutable or watched."""
    owner = function.__self__
    kind = type(owner)
    if isinstance(owner, (types.ModuleType, type, types.NoneType)) or hasattr(object, function.__name__):
        return
    if kind.__hash__ is object.__hash__ and contents.kind_of(kind) is None and function.__name__ not in _READS:
        refuse(f"this calls `{function.__name__}` of a `{kind.__name__}`")


def check_arguments(args, keywords):
    """Refuses an open file as an argument of code that is not converted: the code may write to the file."""
    for value in (*args, *keywords.values()):
        if isinstance(value, io.IOBase) and contents.kind_of(type(value)) is None:
            refuse("an open file is passed to code that is not converted")


#: Names of methods that are always allowed: their changes, if any, can be undone.
_READS = {"fileno", "isatty", "readable", "seekable", "writable", "tell", "locked", "initial_seed", "get_state", "digest",
          "hexdigest", "throw"}  # fmt: skip


# Audit events of Python, for files and processes.

_PREFIXES = ("os.", "shutil.", "socket.", "subprocess.", "sqlite3.", "mmap.", "fcntl.", "ftplib.", "smtplib.", "http.",
             "urllib.", "tempfile.", "builtins.input", "signal.", "pty.")  # fmt: skip
_HARMLESS = {"os.listdir", "os.scandir", "os.walk", "os.fwalk", "os.getxattr", "os.listxattr", "os.add_dll_directory"}
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

_is_watching = False


def _watch_events():
    """Adds an audit hook. Python cannot remove it again, but it does nothing outside of traces."""
    global _is_watching
    if not _is_watching:
        _is_watching = True
        sys.addaudithook(_event)


def _event(event, arguments):
    if not are_refused():
        return
    if event == "open":
        flags = arguments[2]
        if isinstance(flags, int) and flags & _WRITES:
            refuse(f"this opens {arguments[0]!r} for writing")
    elif event.startswith(_PREFIXES) and event not in _HARMLESS:
        refuse(f"this calls `{event}`")


def _is_import():
    """Returns whether converted code, or code that it calls, is importing a module."""
    frame = sys._getframe(2)
    while frame is not None and not spans.is_converted_text(frame.f_code.co_filename):
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False
