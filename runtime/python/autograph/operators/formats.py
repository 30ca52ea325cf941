"""Strings that are formatted with values of the graph.

A format with a width pads a string, and one with a precision truncates it. Both need the text of the value, so they are
applied when the graph runs."""

import re
import string

import torch

from ..capture import texts
from ..capture.staging import current
from ..conversion import spans
from ..errors import StagingError
from ..record import placeholders
from .overloads import OVERLOADS


def joined(*parts):
    """Returns an f-string of these parts."""
    return texts.as_text(current(), "".join(parts))


def text(value, conversion):
    """`f"{value!r}"`, and the same with `!s` and `!a`."""
    return texts.as_text(current(), _CONVERSIONS[conversion](value))


def ascii_(value):
    found = text(value, "r")
    return texts.placeholder(found.staging, found, ascii_of) if isinstance(found, texts.Text) else ascii(value)


def ascii_of(text):
    """`ascii(value)`, given `repr(value)`."""
    return text.encode("ascii", "backslashreplace").decode()


_CONVERSIONS = {"s": str, "r": repr, "a": ascii_}


def percent(left, right):
    """`left % right`."""
    values = right if isinstance(right, tuple) else right.values() if isinstance(right, dict) else (right,)
    if current() is None or not isinstance(left, str) or all(map(_is_known, values)):
        return left % right
    return texts.as_text(current(), "".join(_percent(texts.plain(current(), left), right)))


def _is_known(value):
    """Returns whether the text of a value is already known. Objects of other classes may contain values of the graph."""
    is_plain_text = type(value) is str and not placeholders.exist(value)
    return is_plain_text or type(value) in (bool, int, float, complex, bytes, type(None))


#: The pattern of a conversion in a format for `%`: `%5.2f`, `%(name)s`, `%-*d`.
_CONVERSION = re.compile(
    r"%(?:\((?P<key>[^()]*)\))?(?P<flags>[-#0 +]*)(?P<width>\*|[0-9]*)(?P<precision>\.(?:\*|[0-9]*))?[hlL]?(?P<type>[a-zA-Z%])"
)
_MISSING = object()


def _percent(left, right):
    """Yields the parts of `left % right`."""
    rest, end = iter(right if isinstance(right, tuple) else (right,)), 0

    def following():
        value = next(rest, _MISSING)
        if value is _MISSING:
            raise TypeError("not enough arguments for format string")
        return value

    for found in _CONVERSION.finditer(left):
        yield _literal(left[end : found.start()])
        end = found.end()
        size = found["width"] + (found["precision"] or "")
        while "*" in size:
            size = size.replace("*", _size(following()), 1)
        if found["type"] == "%":
            yield "%"
            continue
        value = following() if found["key"] is None else right[found["key"]]
        yield _converted(f"%{found['flags']}{size}", found["type"], value)
    yield _literal(left[end:])
    is_mapping = hasattr(type(right), "__getitem__") and not isinstance(right, (tuple, str))
    if next(rest, _MISSING) is not _MISSING and not is_mapping:
        raise TypeError("not all arguments converted during string formatting")


def _literal(part):
    if "%" in part:
        raise StagingError("this format cannot be staged\nhelp: use an f-string", spans.current())
    return part


def _size(number):
    if type(number) is not int:
        raise StagingError("the width of a format cannot be staged", spans.current())
    return str(number)


def _converted(spec, kind, value):
    if isinstance(value, (torch.Tensor, torch.SymInt, torch.SymFloat, torch.SymBool)):
        return texts.placeholder(current(), value, lambda v: (spec + kind) % (v,))
    found = text(value, kind) if kind in _CONVERSIONS else None
    if not isinstance(found, texts.Text):
        return (spec + kind) % (value,)
    return found if spec == "%" else texts.placeholder(current(), found, lambda v: f"{spec}s" % v)


class _Formatter(string.Formatter):
    """`str.format`, with conversions (`"{!r:>9}"`) of values of the graph."""

    def convert_field(self, value, conversion):
        return text(value, conversion) if conversion in _CONVERSIONS else super().convert_field(value, conversion)


def formatted(template, args, keywords):
    """`template.format(*args, **keywords)`."""
    if current() is None or all(map(_is_known, (*args, *keywords.values()))):
        return template.format(*args, **keywords)
    return texts.as_text(current(), _Formatter().vformat(template, args, keywords))


OVERLOADS[ascii] = ascii_
