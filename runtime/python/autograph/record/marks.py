"""Marks: placeholders in a string for values that are only known when the graph runs."""

import re

_MARK = re.compile("\ue000([0-9]+)\ue001")
_MARK_OR_ITS_REPR = re.compile(r"(\ue000|\\ue000)[0-9]+(\ue001|\\ue001)")


def mark(index):
    """Returns the placeholder for the value with this index."""
    return f"\ue000{index}\ue001"


def exist(text):
    """Returns whether a text contains a mark."""
    return "\ue000" in text


def split(text):
    """Splits a text into its literal parts and the indexes of the values between them."""
    parts = _MARK.split(text)
    return parts[::2], [int(index) for index in parts[1::2]]


def elided(text):
    """Returns the text, or its `repr`, with `…` in place of each value."""
    return _MARK_OR_ITS_REPR.sub("…", text)
