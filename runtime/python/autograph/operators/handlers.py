"""Handlers of exceptions in converted code."""

import sys

from ..capture.staging import current
from ..errors import AutographError


def not_staging_error():
    """Raises the exception that is handled again if it is an error of the trace, which Python would not have raised."""
    error = sys.exc_info()[1]
    if isinstance(error, AutographError) and current() is not None:
        raise error
