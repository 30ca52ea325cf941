"""Changes that Python makes while tracing, and that a run of the graph would not repeat: changes of files, of other processes
and of objects of other libraries, and output of code that is not converted. They end the trace with an error. If a trace
may be abandoned, so do changes of the positions of iterators, because they cannot be undone."""

import builtins
import contextlib
import functools
import io
import logging
import os
import subprocess
import sys
import threading
import types
import weakref

import torch

from ..conversion import spans
from ..errors import StagingError
from . import contents


class _Local(threading.local):
    are_refused = False  # whether a trace is active, and code may not make such changes
    may_be_abandoned = False


_LOCAL = _Local()

OF_TORCH = os.path.dirname(torch.__file__) + os.sep

_REMEDY = "help: do this outside of the staged function, or in a function that is called with `ag.py_function`"


def may_abandon():
    """Returns whether the active trace of this thread may be abandoned, so that Python runs the call."""
    return _LOCAL.are_refused and _LOCAL.may_be_abandoned


def are_refused():
    """Returns whether the code that is running must not make such changes."""
    return _LOCAL.are_refused


def refuse(what):
    """Ends the trace, because the running code would make such a change. Changes during an import are allowed, because
    Python does not import a module twice, and so are those of finalizers, which the garbage collector calls."""
    if _is_import_or_finalizer():
        return
    reason = ": a trace cannot undo this" if _LOCAL.may_be_abandoned else f", which the graph would not repeat\n{_REMEDY}"
    raise StagingError(f"{what}{reason}", spans.current())


@contextlib.contextmanager
def refused(may_be_abandoned):
    """Refuses such changes in this block. `may_be_abandoned`: Python may run the call instead of the trace."""
    before = _LOCAL.are_refused, _LOCAL.may_be_abandoned, sys.stdout, sys.stderr, logging.Logger.handle
    if may_be_abandoned:
        _watch_events()
    _LOCAL.are_refused, _LOCAL.may_be_abandoned = True, may_be_abandoned
    sys.stdout, sys.stderr = _Output(sys.stdout), _Output(sys.stderr)
    logging.Logger.handle = _logged(logging.Logger.handle)
    try:
        with contextlib.nullcontext() if may_be_abandoned else _replaced_functions():
            yield
    finally:
        _LOCAL.are_refused, _LOCAL.may_be_abandoned, sys.stdout, sys.stderr, logging.Logger.handle = before


@contextlib.contextmanager
def allowed():
    """Allows such changes in this block."""
    before, _LOCAL.are_refused = _LOCAL.are_refused, False
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
        if are_refused() and not record.pathname.startswith(OF_TORCH):
            refuse("this writes to a log")
        return handle(logger, record)

    return called


# Calls of functions that are not written in Python.


def check_call(function, outside):
    """Refuses a method call on an object whose class is not written in Python, unless the object is immutable or watched.
    `outside` contains the ids of objects that existed before the trace; a trace that may not be abandoned can change all
    others."""
    owner = function.__self__
    kind = type(owner)
    if isinstance(owner, (types.ModuleType, type, types.NoneType)) or hasattr(object, function.__name__):
        return
    if kind.__name__.startswith(_RECORDS):
        return
    if is_opaque(kind) and function.__name__ not in _READS and (_LOCAL.may_be_abandoned or id(owner) in outside):
        refuse(f"this calls `{function.__name__}` of a `{kind.__name__}`")


@contextlib.contextmanager
def calls_checked(code, outside):
    """In this block, checks the method calls that user code in the file of `code` makes, if it is not converted because it
    reads its own variables (`eval`)."""
    if not _LOCAL.are_refused or sys.getprofile() is not None:
        yield
        return

    def event(frame, name, function):
        if name == "c_call" and frame.f_code.co_filename == code.co_filename:
            check_call(function, outside)

    sys.setprofile(event)
    try:
        yield
    finally:
        if sys.getprofile() is event:
            sys.setprofile(None)


def is_opaque(kind):
    """Returns whether nothing is known about the state of objects of a class."""
    return kind.__hash__ is object.__hash__ and contents.kind_of(kind) is None


def check_arguments(args, keywords, outside):
    """Refuses an open file as an argument of code that is not converted: the code may write to the file."""
    for value in (*args, *keywords.values()):
        is_file = isinstance(value, io.IOBase) and contents.kind_of(type(value)) is None
        if is_file and (_LOCAL.may_be_abandoned or id(value) in outside):
            refuse("an open file is passed to code that is not converted")


#: Classes of the objects of pybind11 that take the place of the module in its functions, such as those of `torch._C`.
_RECORDS = ("pybind11_detail_function_record", "PyCapsule")

#: Names of methods that leave no lasting change. A function that acquires a lock while it is traced also releases it.
_READS = {"fileno", "isatty", "readable", "seekable", "writable", "tell", "locked", "initial_seed", "get_state", "digest",
          "hexdigest", "throw", "acquire", "release"}  # fmt: skip


# Audit events of Python, for files and processes.

_PREFIXES = ("os.", "shutil.", "socket.", "subprocess.", "sqlite3.", "mmap.", "fcntl.", "ftplib.", "smtplib.", "http.",
             "urllib.", "tempfile.", "builtins.input", "signal.", "pty.")  # fmt: skip
_HARMLESS = {"os.listdir", "os.scandir", "os.walk", "os.fwalk", "os.getxattr", "os.listxattr", "os.add_dll_directory",
             "socket.gethostname"}  # fmt: skip
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

_is_watching = False


def _watch_events():
    """Adds an audit hook. Python cannot remove it again, and then calls it for each `id()`, also outside of traces. So only a
    trace that may be abandoned adds it; the others replace functions (`_replaced_functions`)."""
    global _is_watching
    if not _is_watching:
        _is_watching = True
        sys.addaudithook(_event)


def _event(event, arguments):
    if not may_abandon():
        return
    if event == "open":
        flags = arguments[2]
        if isinstance(flags, int) and flags & _WRITES:
            refuse(f"this opens {arguments[0]!r} for writing")
    elif event.startswith(_PREFIXES) and event not in _HARMLESS:
        refuse(f"this calls `{event}`")


# Functions of Python for files and processes.

_OF_OS = (
    "putenv", "unsetenv", "remove", "unlink", "rename", "replace", "mkdir", "rmdir", "link", "symlink", "chmod", "chown",
    "truncate", "utime", "system", "fork", "posix_spawn", "posix_spawnp", "kill", "killpg", "chdir", "mkfifo",
)  # fmt: skip


@contextlib.contextmanager
def _replaced_functions():
    """Replaces the functions in this block. The replacements refuse calls in a trace, also by code that is not converted."""
    places = [(builtins, "open"), (io, "open"), (os, "open"), (subprocess.Popen, "__init__")]
    places += [(os, name) for name in _OF_OS if hasattr(os, name)]
    functions = [getattr(owner, name) for owner, name in places]
    for (owner, name), function in zip(places, functions):
        setattr(owner, name, _checked(function, name))
    try:
        yield
    finally:
        for (owner, name), function in zip(places, functions):
            setattr(owner, name, function)


def _checked(function, name):
    @functools.wraps(function)
    def called(*args, **keywords):
        if are_refused():
            if name != "open":
                refuse("this starts a process" if name == "__init__" else f"this calls `os.{name}`")
            how = args[1] if len(args) > 1 else keywords.get("mode", keywords.get("flags", "r"))
            if how & _WRITES if isinstance(how, int) else not {"w", "a", "x", "+"}.isdisjoint(how):
                refuse(f"this opens {args[0] if args else 'a file'!r} for writing")
        return function(*args, **keywords)

    return called


def _is_import_or_finalizer():
    """Returns whether converted code, or code that it calls, is importing a module or finalizing an object."""
    frame = sys._getframe(2)
    while frame is not None and not spans.is_converted_text(frame.f_code.co_filename):
        code = frame.f_code
        if code.co_filename.startswith("<frozen importlib") or code.co_name == "__del__":
            return True
        if code.co_name == "__call__" and code.co_filename == weakref.__file__:  # `weakref.finalize`
            return True
        frame = frame.f_back
    return False
