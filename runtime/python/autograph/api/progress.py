"""A status line at the bottom of the terminal while a function is traced, for `ag-lsp run`.

The line is outside the scrolling region of the terminal, so it does not mix with the program's output."""

import os
import sys
import threading
import time
from contextlib import contextmanager

#: The seconds until the status line is shown, and the seconds between its updates.
DELAY = 1.0
INTERVAL = 0.5

#: The variable is removed from the environment, so that child processes do not show a status line.
_ENABLED = os.environ.pop("AUTOGRAPH_PROGRESS", None) is not None

# Control sequences of the DEC VT100, which all terminals support.
_MAKE_ROOM = "\x1bD\x1b[A"
_SAVE, _RESTORE = "\x1b7", "\x1b8"
_ERASE = "\x1b[2K"


def scrolling(rows):
    """Returns the control sequence that sets the scrolling region to the first rows. It also moves the cursor."""
    return f"\x1b[1;{rows}r"


def at(row):
    """Returns the control sequence that moves the cursor to a row."""
    return f"\x1b[{row};1H"


@contextmanager
def staging(name):
    """Shows that the function `name` is being traced."""
    terminal = sys.__stderr__
    if not _ENABLED or terminal is None or not terminal.isatty():
        yield
        return
    done = threading.Event()
    thread = threading.Thread(target=_show, args=(terminal.fileno(), name, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _show(terminal, name, done):
    """Shows the name of the function and the elapsed time in the last line of a terminal until tracing is done."""
    start = time.monotonic()
    if done.wait(DELAY):
        return
    rows = None
    try:
        while True:
            columns, height = os.get_terminal_size(terminal)
            if height < 2:
                return
            if height != rows:
                rows = height
                _write(terminal, _MAKE_ROOM + _SAVE + scrolling(rows - 1) + _RESTORE)
            line = f"staging {name}, {time.monotonic() - start:.0f} s"[:columns]
            _write(terminal, _SAVE + at(rows) + _ERASE + line + _RESTORE)
            if done.wait(INTERVAL):
                return
    except OSError:
        return
    finally:
        if rows is not None:
            _write(terminal, _SAVE + "\x1b[r" + at(rows) + _ERASE + _RESTORE)


def _write(terminal, text):
    try:
        os.write(terminal, text.encode())
    except OSError:
        pass
