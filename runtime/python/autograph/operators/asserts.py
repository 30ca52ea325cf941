"""`assert`, `torch._assert` and `torch._check` with a staged condition."""

import torch

from ..capture import scalars, texts
from ..capture.staging import current, is_condition, is_staged
from ..conversion import spans
from ..errors import Unreachable
from ..record.ops import ASSERT
from . import regions
from .overloads import OVERLOADS

#: The message that the converter passes for an `assert` without a message.
NO_MESSAGE = "Assertion error"


def assert_stmt(expression1, expression2):
    if not callable(expression2):
        raise ValueError(f"{expression2} must be a callable")
    staging = current()
    if not is_condition(expression1):
        if not expression1:
            error = _error(expression2())
            if staging is None or not staging.depth:
                raise error
            regions.record_raise(staging, error, spans.current())
            raise Unreachable
        return
    flag = regions.condition(staging, expression1, "`assert`")
    if _is_decided(staging, flag, expression2, _error):
        return
    message = expression2()
    if type(message) is str and message == NO_MESSAGE:
        regions.raise_unless(staging, flag, [], AssertionError)
        return
    is_number = is_staged(message) and scalars.kind_of(message)
    part = staging.operand(message) if is_number else texts.assembled(staging, str(message))
    staging.emit(ASSERT, [flag, part], [])


def _error(message):
    return AssertionError() if type(message) is str and message == NO_MESSAGE else AssertionError(message)


def _is_decided(staging, flag, message, kind):
    """If a `try` surrounds an assertion, decides the assertion for the arguments of this call, because the `try` cannot
    catch an exception of the graph. Returns whether the assertion was decided."""
    if not spans.inside_try():
        return False
    answer = staging.decided(flag)
    if answer is None:
        regions.check_not_caught(staging)
        return False
    if not answer:
        raise kind(message())
    return True


def torch_assert(condition, message):
    assert_stmt(condition, lambda: message)


def torch_check(kind, check):
    """Returns the staged form of a function such as `torch._check`, which raises an exception of the class `kind`."""

    def checked(cond, message=None):
        if not is_staged(cond) or isinstance(cond, torch.Tensor):
            return check(cond, message)
        staging = current()
        flag = regions.condition(staging, cond, f"`{check.__name__}`")
        if _is_decided(staging, flag, lambda: message and message(), kind):
            return
        text = str(message()) if message is not None else _torch_message(check)
        if flag is not True:
            regions.raise_unless(staging, flag, [texts.assembled(staging, text)], kind)

    return checked


def _torch_message(check):
    try:
        check(False)
    except Exception as error:
        return str(error)


OVERLOADS[torch._assert] = torch_assert
for _check, _kind in (
    (torch._check, RuntimeError), (torch._check_index, IndexError), (torch._check_value, ValueError),
    (torch._check_type, TypeError), (torch._check_not_implemented, NotImplementedError),
):  # fmt: skip
    OVERLOADS[_check] = torch_check(_kind, _check)
