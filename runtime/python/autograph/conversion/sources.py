"""The text from which a function was compiled. The file may have changed since, for example because an editor has saved
it, or `importlib.reload` has run it again."""

import functools
import linecache
import os
import time
import types
import warnings

#: The time at which this package was imported.
IMPORTED = time.time()


def text_of_file(function):
    """Returns the text of the function's file as it was imported; empty if there is no file. Returns None if the file has
    changed since."""
    code, text = function.__code__, _read(function)
    if not _may_have_changed(code.co_filename) or code in _codes(text, code.co_filename):
        return text
    linecache.checkcache(code.co_filename)
    text = _read(function)
    return text if code in _codes(text, code.co_filename) else None


def _read(function):
    return "".join(linecache.getlines(function.__code__.co_filename, function.__globals__))


def _may_have_changed(path):
    """Returns whether a file was written after this package was imported. Only then is its text compared with the
    running code. An unchanged file is not compared, because pytest rewrites assertions, so the two would differ."""
    try:
        return os.stat(path).st_mtime > IMPORTED
    except (OSError, ValueError):
        return False


@functools.lru_cache(maxsize=16)
def _codes(text, path):
    """Returns the code objects of a text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python has shown these warnings during the import
            pending = [compile(text, path, "exec", dont_inherit=True)]
    except (SyntaxError, ValueError):
        return frozenset()
    found = set()
    while pending:
        code = pending.pop()
        found.add(code)
        pending += (constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    return found
