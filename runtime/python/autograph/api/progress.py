"""What is being staged, on the last line of the terminal, where `ag-lsp run` asks for it and staging takes long.

The line is taken out of the part of the terminal that scrolls, so the program's own output and it never meet."""

import os
import sys
import threading
import time
from contextlib import contextmanager

#: Seconds. Shorter waits are not worth a line.
PATIENCE = 1.0
INTERVAL = 0.5

#: Taken from the environment, so that processes that the program starts do not draw too.
_WANTED = os.environ.pop("AUTOGRAPH_PROGRESS", None) is not None

# Control sequences of the DEC VT100, which terminals have in common.
_MAKE_ROOM = "\x1bD\x1b[A"
_SAVE, _RESTORE = "\x1b7", "\x1b8"
_ERASE = "\x1b[2K"


def scrolling(rows):
    """The part of a terminal that scrolls; setting it moves the cursor."""
    return f"\x1b[1;{rows}r"


def at(row):
    return f"\x1b[{row};1H"


@contextmanager
def staging(name):
    """While a function is staged."""
    terminal = sys.__stderr__
    if not _WANTED or terminal is None or not terminal.isatty():
        yield
        return
    over = threading.Event()
    thread = threading.Thread(target=_show, args=(terminal.fileno(), name, over), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _show(terminal, name, over):
    start = time.monotonic()
    if over.wait(PATIENCE):
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
            if over.wait(INTERVAL):
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
