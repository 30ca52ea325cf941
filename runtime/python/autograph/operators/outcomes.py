"""The outcomes of conditions and integers (`capture/profile.py`). In a profiled call, operators report the outcome to
an `Execution`; in a trace with assumptions, they use its expected outcome. In all other code, the execution is None."""

import torch

from ..capture import profile, scalars
from ..capture.staging import current, is_staged
from ..record.ops import EQ
from ..record.types import BOOL, INT


def is_true(execution, value):
    """Returns whether a value that is not staged is true. Reports the outcome."""
    outcome = bool(value)
    if execution is not None:
        execution.report(outcome)
    return outcome


def assumed(execution, flag, answer=None):
    """Returns the assumed value of a staged boolean: `answer` if it is given, otherwise the expected outcome. The graph checks
    the value. Without an assumption, returns the boolean itself."""
    if execution is None or execution.expected is None:
        return flag
    return current().path.check(execution, flag, execution.expected if answer is None else answer)


def integer(value):
    """Returns the number that `.item()` or `int(x)` returns. Reports an integer, or replaces it by the assumed integer."""
    if type(value) is not int and not (scalars.is_staged(value) and scalars.kind_of(value) == INT):
        return value
    execution = profile.execution("number")
    if execution is None:
        return value
    if not is_staged(value):
        execution.report(value)
    elif execution.expected is not None:
        return _assumed(execution, scalars.lower(current(), value))
    return value


def _assumed(execution, operand):
    staging, expected = current(), execution.expected
    if type(operand) is int:
        return operand
    staging.path.check(execution, staging.emit(EQ, [operand, expected], [BOOL])[0], True)
    return expected


def is_item(f):
    """Returns whether a method is `.item` of a tensor."""
    return getattr(f, "__name__", None) == "item" and isinstance(getattr(f, "__self__", None), torch.Tensor)
