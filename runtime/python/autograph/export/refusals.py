"""Errors of code that a format cannot represent, at its line."""

from ..errors import ExportError


def refuse(reason, format, span=None):
    raise ExportError(f"cannot be exported to {format}: {reason}", span)
