"""Placeholders in a string for values that are only known when the graph runs."""

import re

_PLACEHOLDER = re.compile("\ue000([0-9]+)\ue001")
_PLACEHOLDER_OR_ITS_REPR = re.compile(r"(\ue000|\\ue000)[0-9]+(\ue001|\\ue001)")


def placeholder(index):
    """Returns the placeholder for the value with this index."""
    return f"\ue000{index}\ue001"


def exist(text):
    """Returns whether a text contains a placeholder."""
    return "\ue000" in text


def split(text):
    """Splits a text into its literal parts and the indexes of the values between them."""
    parts = _PLACEHOLDER.split(text)
    return parts[::2], [int(index) for index in parts[1::2]]


def elided(text):
    """Returns the text, or its `repr`, with `…` in place of each value."""
    return _PLACEHOLDER_OR_ITS_REPR.sub("…", text)
