"""Reads of variables that may be unbound."""

import ast
import functools

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
    """Returns the value that `load_v` reads; `Undefined` if the variable, attribute or element does not exist. Does not create
    the element of a `defaultdict`."""
    if name.endswith("]") and is_missing(load_v, name):
        return Undefined(name)
    try:
        return load_v()
    except (KeyError, AttributeError, NameError, IndexError):
        return Undefined(name)


def is_missing(function, name):
    """Returns whether `name`, such as `s.counts[k]`, is an element that a dictionary does not have. `function` is a function
    that uses the element."""
    found = _element(function, name)
    return found is not None and isinstance(found[0], dict) and not dict.__contains__(*found)


def delete_missing(function, names, values):
    """Removes the elements with these names from their dictionaries whose value is `Undefined`. `function` has assigned
    them."""
    for name, value in zip(names, values):
        if isinstance(value, Undefined) and name.endswith("]"):
            found = _element(function, name)
            if found is not None and isinstance(found[0], dict):
                dict.pop(*found, None)


def _element(function, name):
    """Returns the container and the key of an element; None if they cannot be evaluated."""
    parts = _parts(name)
    if parts is None:
        return None
    cells = zip(function.__code__.co_freevars, function.__closure__ or ())
    try:
        scope = {name: cell.cell_contents for name, cell in cells}
        container, key = (eval(part, function.__globals__, scope) for part in parts)
        hash(key)
    except Exception:  # a variable is unbound, for example; the code that uses the element raises the exception
        return None
    return container, key


@functools.lru_cache(maxsize=None)
def _parts(name):
    """Returns the code of the container and of the key of an element."""
    element = ast.parse(name, mode="eval").body
    if not isinstance(element, ast.Subscript) or isinstance(element.slice, ast.Slice):
        return None
    return [compile(ast.Expression(part), "<element>", "eval") for part in (element.value, element.slice)]


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
