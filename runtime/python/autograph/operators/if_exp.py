"""`a if c else b`, `and`, `or`, `not`."""

import torch

from ..capture import profile, scalars
from ..capture.staging import current, is_condition
from ..record.ops import NOT
from ..record.types import BOOL
from . import outcomes, regions
from .if_stmt import staged_if


def if_exp(cond, if_true, if_false, expr_repr):
    execution = profile.execution("if")
    if not is_condition(cond):
        return if_true() if outcomes.is_true(execution, cond) else if_false()
    return either(cond, if_true, if_false, f"`{expr_repr}`", execution)


def selected(cond, if_true, if_false, what):
    """`if_true if cond else if_false` for a staged condition and two values. `what` names the expression in errors."""
    return either(cond, lambda: if_true, lambda: if_false, what, is_selection=True)


def either(cond, if_true, if_false, what, execution=None, is_selection=False):
    """`if_true() if cond else if_false()` for a staged condition. `what` names the expression in errors."""
    staging = current()
    result = None

    def get_state():
        return (result,)

    def set_state(values):
        nonlocal result
        (result,) = values

    def then():
        nonlocal result
        result = if_true()

    def orelse():
        nonlocal result
        result = if_false()

    flag = outcomes.assumed(execution, regions.condition(staging, cond, what))
    staged_if(staging, flag, then, orelse, get_state, set_state, (what,), is_selection=is_selection)
    return result


def and_(a, b):
    first = a()
    execution = profile.execution("and")
    if not is_condition(first):
        return b() if outcomes.is_true(execution, first) else first
    return _shortcut(first, b, lambda: False, lambda: first, "and", execution)


def or_(a, b):
    first = a()
    execution = profile.execution("or")
    if not is_condition(first):
        return first if outcomes.is_true(execution, first) else b()
    return _shortcut(first, lambda: True, b, lambda: first, "or", execution)


def _shortcut(first, if_true, if_false, left, name, execution):
    """Evaluates the second operand only if the first does not determine the result. On the path where a boolean first
    operand determines the result, the result is a constant."""
    if _is_bool(first):
        return either(first, if_true, if_false, name, execution)
    return either(first, if_true if name == "and" else left, left if name == "and" else if_false, name, execution)


def _is_bool(value):
    if isinstance(value, torch.Tensor):
        return False
    return scalars.kind_of(value) == BOOL


def not_(a):
    if not is_condition(a):
        return not a
    staging = current()
    flag = regions.condition(staging, a, "`not`")
    if isinstance(flag, bool):
        return not flag
    return staging.scalar(staging.emit(NOT, [flag], [BOOL])[0])


def eq(a, b):
    return a == b


def not_eq(a, b):
    return a != b
