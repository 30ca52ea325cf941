"""Finds the line of the user's code that causes a difference."""

import dis
import re
import sys


def of_function(function):
    """Returns the span of the first line of a function."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return None if code is None else (code.co_filename, code.co_firstlineno, 0, code.co_firstlineno, 1)


class Returns:
    """Records the line at which a function returns, and the code that ran."""

    def __init__(self, function):
        self._code = getattr(getattr(function, "__func__", function), "__code__", None)
        self.ran = {}
        self.span = of_function(function)

    def __enter__(self):
        self._before = sys.getprofile()
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_):
        sys.setprofile(self._before)

    def _note(self, frame, event, _):
        if event == "call":
            self.ran[frame.f_code] = None
        elif event == "return" and frame.f_code is self._code:
            self.span = (self._code.co_filename, frame.f_lineno, 0, frame.f_lineno, 0)


_STORES = ("STORE_ATTR", "STORE_GLOBAL", "STORE_DEREF", "STORE_SUBSCR")


def of_state(path, returns, code):
    """Returns the line that changes a variable or attribute: the first line that assigns to the last name in its path.
    If no line assigns to this name, returns the first line that contains it."""
    names = [name for name in re.findall(r"[A-Za-z_]\w*", re.sub(r"'[^']*'|\.grad\b", " ", path)) if name]
    ran = [known for known in code if known in returns.ran] or code
    for name in reversed(names):
        for wanted in (_STORES, None):
            for known in ran:
                line = _line(known, name, wanted)
                if line is not None:
                    return (known.co_filename, line, 0, line, 0)
    return returns.span


def _line(code, name, operations):
    line = named = None
    for instruction in dis.get_instructions(code):
        if instruction.starts_line is not None and instruction.starts_line is not True:
            line = instruction.starts_line if instruction.starts_line is not False else line
            line = getattr(instruction, "line_number", None) or line
        if instruction.argval == name and isinstance(instruction.argval, str):
            named = line
            if operations is None or instruction.opname in operations:
                return line
        elif operations is not None and instruction.opname == "STORE_SUBSCR" and named == line:
            return line
    return None
