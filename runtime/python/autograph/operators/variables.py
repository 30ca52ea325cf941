"""Reads of variables that may be unbound."""

from ..capture import scalars
from ..capture.staging import current
from ..capture.unbound import Maybe, Undefined, UndefinedReturnValue
from ..record.ops import IF, NOT, Raise
from ..record.types import BOOL


def _unbound_local():
    try:
        del name
        name = None
    except UnboundLocalError as error:
        return error.args[0].replace("name", "{}", 1)


UNBOUND = _unbound_local()
"""The interpreter's own message, with a placeholder for the name."""


def ld(v):
    """Returns the value of a variable that the code reads. Raises `UnboundLocalError` if the variable is unbound; if it is
    unbound on some paths only, the graph raises on these paths."""
    if isinstance(v, Undefined):
        raise UnboundLocalError(UNBOUND.format(v.symbol_name))
    if isinstance(v, Maybe):
        return _checked(v)
    return v


def _checked(maybe):
    """Returns the value of a variable. On the paths on which it is unbound, the graph raises an `UnboundLocalError`."""
    if not isinstance(maybe.absent, Undefined):
        return maybe
    staging = current()
    flag = scalars.lower(staging, maybe.flag)
    if flag is not True:
        message = UNBOUND.format(maybe.absent.symbol_name)
        with staging.record.new_region() as bound:
            pass
        with staging.record.new_region() as unbound:
            staging.emit(Raise(UnboundLocalError), [message], [])
        staging.emit(IF, [flag], [], regions=[bound, unbound])
    return maybe.value


def ldu(load_v, name):
    """Returns the value that `load_v` reads; `Undefined` if the variable, attribute or element does not exist."""
    try:
        return load_v()
    except (KeyError, AttributeError, NameError, IndexError):
        return Undefined(name)


def returned(value):
    """Returns the return value of a function, given the value that its `return` statements left."""
    if isinstance(value, UndefinedReturnValue):
        return None
    return value


def resolve_return(staging, maybe, name):
    """Returns the return value of a function that returns a value on some paths and None on others. Staged code cannot
    continue with both, so one is assumed: the result for the usual sizes, or for the arguments of this call."""
    flag = scalars.lower(staging, maybe.flag)
    has_value = staging.sizes.decided(flag, any_integer=True)
    if has_value is None:
        has_value = staging.probe(flag)
        if has_value is None:  # below a staged condition or in a loop: the answer for the function's previous call
            has_value = staging.answers.get(name, True)
        if has_value:
            staging.assume(flag, f"`{name}` returns a value")
        else:
            staging.assume(staging.emit(NOT, [flag], [BOOL])[0], f"`{name}` returns None")
    staging.answers[name] = has_value
    return maybe.value if has_value else None
