"""Variables that may be unbound."""

from ..capture import scalars
from ..staging import current


class Undefined:
    """The value of a variable that Python would hold as unbound."""

    __slots__ = ("symbol_name",)

    def __init__(self, symbol_name):
        self.symbol_name = symbol_name

    def __repr__(self):
        return f"Undefined({self.symbol_name!r})"


class UndefinedReturnValue:
    """The result of a function that has not returned yet."""


class Maybe:
    """A variable that is bound on some paths of a graph only. `flag` is the staged answer, `absent` what it is
    else."""

    __slots__ = ("value", "flag", "absent")

    def __init__(self, value, flag, absent):
        self.value = value
        self.flag = flag
        self.absent = absent


def _unbound_local():
    try:
        del name
        name = None
    except UnboundLocalError as error:
        return error.args[0].replace("name", "{}", 1)


UNBOUND = _unbound_local()
"""The interpreter's own words, with a place for the name."""


def ld(v):
    if isinstance(v, Undefined):
        raise UnboundLocalError(UNBOUND.format(v.symbol_name))
    if isinstance(v, Maybe):
        return _checked(v)
    return v


def _checked(maybe):
    """The value, where it is bound; the graph raises where it is not."""
    if not isinstance(maybe.absent, Undefined):
        return maybe
    staging = current()
    flag = scalars.lower(staging, maybe.flag)
    if flag is not True:
        message = UNBOUND.format(maybe.absent.symbol_name)
        with staging.record.new_region() as bound:
            pass
        with staging.record.new_region() as unbound:
            staging.emit("raise", [message], [], extra=UnboundLocalError)
        staging.emit("if", [flag], [], regions=[bound, unbound])
    return maybe.value


def ldu(load_v, name):
    try:
        return load_v()
    except (KeyError, AttributeError, NameError, IndexError):
        return Undefined(name)


def returned(value):
    """What a function returns, given what `return` statements left."""
    if isinstance(value, UndefinedReturnValue):
        return None
    return value


def on_every_path(staging, maybe, name):
    """What a function returned to staged code, which cannot go on with a value on some paths and None on others."""
    message = f"`{name}` returns None here and a value elsewhere, which staged code that calls it cannot tell apart"
    staging.emit("assert", [scalars.lower(staging, maybe.flag), message], [])
    return maybe.value
