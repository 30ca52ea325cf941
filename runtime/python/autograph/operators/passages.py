"""How operators use a `Passage` (`capture/profile.py`): in a profiled call they report the outcome, in a trace with
assumptions they follow the expected outcome. Most of the time the passage is None."""

import torch

from ..capture import profile, scalars
from ..capture.staging import current, is_staged
from ..record.ops import EQ
from ..record.types import BOOL, INT


def truth(passage, value):
    """Whether a value that is not staged is true; reports the outcome."""
    holds = bool(value)
    if passage is not None:
        passage.done(holds)
    return holds


def followed(passage, flag, answer=None):
    """The assumed value of a staged boolean, with a check: `answer` if it is given, otherwise the expected outcome.
    Without an assumption, the boolean itself."""
    if passage is None or passage.expected is None:
        return flag
    return current().path.check(passage, flag, passage.expected if answer is None else answer)


def integer(value):
    """A number that the program reads from a tensor or converts to an integer, by `.item()` or `int(x)`."""
    if type(value) is not int and not (scalars.is_staged(value) and scalars.kind_of(value) == INT):
        return value
    passage = profile.passed("number")
    if passage is None:
        return value
    if not is_staged(value):
        passage.done(value)
    elif passage.expected is not None:
        return _assumed(passage, scalars.lower(current(), value))
    return value


def _assumed(passage, operand):
    staging, expected = current(), passage.expected
    if type(operand) is int:
        return operand
    staging.path.check(passage, staging.emit(EQ, [operand, expected], [BOOL])[0], True)
    return expected


def is_item(f):
    """Whether a method is `.item` of a tensor."""
    return getattr(f, "__name__", None) == "item" and isinstance(getattr(f, "__self__", None), torch.Tensor)
