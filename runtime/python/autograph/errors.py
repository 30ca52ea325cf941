"""What can go wrong, said at the user's line. No frame of this package is shown."""

import linecache


class AutographError(Exception):
    """An error at a place of the user's code."""

    def __init__(self, message, span=None):
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
