"""`assert`, on conditions that only the graph knows."""

from ..capture import scalars, texts
from ..capture.staging import current, is_staged
from . import regions

#: What the converter says where the statement says nothing.
NOTHING = "Assertion error"


def assert_stmt(expression1, expression2):
    if not callable(expression2):
        raise ValueError(f"{expression2} must be a callable")
    if not is_staged(expression1):
        if not expression1:
            message = expression2()
            raise AssertionError if message == NOTHING else AssertionError(message)
        return
    staging = current()
    flag = regions.condition(staging, expression1, "`assert`")
    regions.not_caught(staging)
    message = expression2()
    if message == NOTHING:
        regions.raise_unless(staging, flag, [], AssertionError)
        return
    is_number = is_staged(message) and scalars.kind_of(message)
    part = staging.operand(message) if is_number else texts.assembled(staging, str(message))
    staging.emit("assert", [flag, part], [], extra=message)
