"""`assert` with a staged condition."""

from ..capture import scalars, texts
from ..capture.staging import current, is_staged
from ..record.ops import ASSERT
from . import regions

#: The message that the converter passes for an `assert` without a message.
NO_MESSAGE = "Assertion error"


def assert_stmt(expression1, expression2):
    if not callable(expression2):
        raise ValueError(f"{expression2} must be a callable")
    if not is_staged(expression1):
        if not expression1:
            message = expression2()
            raise AssertionError if message == NO_MESSAGE else AssertionError(message)
        return
    staging = current()
    flag = regions.condition(staging, expression1, "`assert`")
    regions.not_caught(staging)
    message = expression2()
    if type(message) is str and message == NO_MESSAGE:
        regions.raise_unless(staging, flag, [], AssertionError)
        return
    is_number = is_staged(message) and scalars.kind_of(message)
    part = staging.operand(message) if is_number else texts.assembled(staging, str(message))
    staging.emit(ASSERT, [flag, part], [])
