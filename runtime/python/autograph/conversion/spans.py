"""Maps frames of converted code to positions in the user's source."""

import bisect
import dis
import functools
import sys
import types

#: File name of the code objects -> converted text.
_TEXTS = {}


class ConvertedText:
    """Converted source text and its map to the original file. Each of the `ranges` is (start, end, original start, original
    end, whether it is a copy of the original), in characters."""

    def __init__(self, text, path, source, ranges, name):
        self.path = path
        self.name = name
        self._lines = _starts(text)
        self._original = _starts(source)
        self._text = text
        self._ranges = sorted(ranges, key=lambda r: r[1] - r[0])
        self._known = {}

    def span(self, line, column, end_line, end_column):
        key = (line, column, end_line, end_column)
        if key not in self._known:
            self._known[key] = self._find(*key)
        return self._known[key]

    def _find(self, line, column, end_line, end_column):
        start = self._offset(line, column)
        end = max(self._offset(end_line, end_column), start + 1)
        found = self._original_of(start, end)
        return None if found is None else (self.path, *self._position(found[0]), *self._position(found[1]))

    def _original_of(self, start, end):
        """Returns the original range of a piece of converted text. If the piece is a range of the map, returns the
        original of this range. Otherwise, the result covers the originals of all ranges inside the piece. If there are
        none, returns the original of the smallest range around the piece."""
        for first, last, original, original_end, verbatim in self._ranges:
            if first <= start and end <= last:
                if verbatim:
                    return original + start - first, original + end - first
                inside = [r for r in self._ranges if start <= r[0] and r[1] <= end]
                if (first, last) != (start, end) and inside:
                    return min(r[2] for r in inside), max(r[3] for r in inside)
                return original, original_end
        return None

    def _offset(self, line, column):
        if not 0 < line <= len(self._lines):
            return 0
        begin = self._lines[line - 1]
        stop = self._lines[line] if line < len(self._lines) else len(self._text)
        prefix = self._text[begin:stop].encode()[:column]
        return begin + len(prefix.decode(errors="ignore"))

    def _position(self, offset):
        line = bisect.bisect_right(self._original, offset)
        return line, offset - self._original[line - 1]


def _starts(text):
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts


def function_name(filename):
    return _TEXTS[filename].name


def is_converted_text(filename):
    return filename in _TEXTS


def register(filename, text):
    _TEXTS[filename] = text


_POSITIONS = {}  # id of a code object, which is never freed -> its positions
_SPANS = {}


def _positions(code):
    """(line, end line, column, end column) of each instruction; nothing before Python 3.11."""
    if id(code) not in _POSITIONS:
        _POSITIONS[id(code)] = list(code.co_positions()) if hasattr(code, "co_positions") else []
    return _POSITIONS[id(code)]


def _span(code, lasti, lineno):
    """Returns the original span of an instruction of converted code."""
    key = (id(code), lasti)
    if key not in _SPANS:
        known = _positions(code)
        found = known[lasti // 2] if lasti // 2 < len(known) else (None,)
        line, end_line, column, end_column = (lineno, lineno, 0, 1 << 20) if None in found else found
        _SPANS[key] = _TEXTS[code.co_filename].span(line, column, end_line, end_column)
    return _SPANS[key]


def current():
    """Returns the original span of the innermost running frame of converted code."""
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code.co_filename in _TEXTS:
            span = _span(code, frame.f_lasti, frame.f_lineno)
            if span is not None:
                return span
        frame = frame.f_back
    return None


def of_frame(frame):
    """Returns the original span of the line that a frame of converted code executes."""
    code, line = frame.f_code, frame.f_lineno
    return _span(code, frame.f_lasti, line) or _TEXTS[code.co_filename].span(line, 0, line, 1 << 20)


def names_of(value):
    """Yields the names of the variables of running converted code that hold an object."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename in _TEXTS:
            yield from (name for name, held in frame.f_locals.items() if held is value)
        frame = frame.f_back


def of_entry(traceback):
    """Returns the original span of a traceback entry; None if it is not converted code."""
    code = traceback.tb_frame.f_code
    if code.co_filename not in _TEXTS:
        return None
    return _span(code, traceback.tb_lasti, traceback.tb_lineno)


def of_traceback(traceback):
    """Returns the span of the innermost converted frame in a traceback, and whether it is the last frame."""
    found, innermost = None, False
    while traceback is not None:
        code = traceback.tb_frame.f_code
        innermost = code.co_filename in _TEXTS
        if innermost:
            found = _span(code, traceback.tb_lasti, traceback.tb_lineno) or found
        traceback = traceback.tb_next
    return found, innermost


def inside_try():
    """Returns whether a running frame of converted code is in the body of a `try`, and so could catch an exception."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename in _TEXTS and _catches(frame.f_code, frame.f_lasti):
            return True
        frame = frame.f_back
    return False


@functools.lru_cache(maxsize=None)
def has_handlers(code):
    """Returns whether code, or code in it, has an `except` or a `with`, which may catch an exception."""
    inner = [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    has_table = bool(getattr(code, "co_exceptiontable", True))  # before Python 3.11, code has no such table
    return has_table and any(i.opname == "POP_EXCEPT" for i in dis.get_instructions(code)) or any(map(has_handlers, inner))


def _catches(code, lasti):
    """Returns whether an instruction is in the body of a `try`. The body of a `with` does not count; its handler starts with
    other instructions."""
    if not hasattr(dis, "_parse_exception_table"):
        return False
    for entry in dis._parse_exception_table(code):
        if entry.start <= lasti < entry.end and not entry.lasti:
            begin = [i.opname for i in dis.get_instructions(code) if entry.target <= i.offset][:2]
            if begin[:1] == ["PUSH_EXC_INFO"] and begin[1:] != ["WITH_EXCEPT_START"]:
                return True
    return False
