"""Reads of variables that may be unbound."""

import ast
import functools

from ..capture import scalars
from ..capture.places import delete_key
from ..capture.staging import current
from ..capture.unbound import Maybe, Undefined, UndefinedReturnValue
from ..conversion import spans
from ..errors import StagingError
from ..record.ops import IF, NOT, Raise
from ..record.types import BOOL
from . import attributes


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
    """Returns the value that `load_v` reads; `Undefined` if the variable, attribute or element does not exist, and a `Maybe`
    if it exists on some paths only. Does not create the element of a `defaultdict`."""
    part = _part(load_v, name)
    if part is not None and part.is_missing():
        return Undefined(name)
    maybe = None if part is None else part.maybe()
    if maybe is not None:
        return maybe
    try:
        return load_v()
    except (KeyError, AttributeError, NameError, IndexError):
        return Undefined(name)


def delete_missing(function, names, values):
    """Removes the attributes and the elements of dictionaries with these names whose value is `Undefined`. `function` has
    assigned them. Raises `StagingError` for an element of another container."""
    for name, value in zip(names, values):
        part = _part(function, name) if isinstance(value, Undefined) else None
        if part is not None:
            part.delete(value)


class _Element:
    """The element `container[key]`."""

    def __init__(self, container, key):
        hash(key)
        self.container = container
        self.key = key

    def is_missing(self):
        return isinstance(self.container, dict) and not dict.__contains__(self.container, self.key)

    def maybe(self):
        return None

    def delete(self, value):
        """Removes the element, to which `value` was assigned. Only a dictionary is known to be as before then: other
        containers run the program's code, such as `def __setitem__(self, key, value): self.items[key] = value`."""
        if isinstance(self.container, dict):
            delete_key(self.container, self.key)
        elif self._holds(value):
            message = f"an item of this `{type(self.container).__name__}` does not exist before the staged code assigns it"
            raise StagingError(f"{message}\nhelp: assign the item before", spans.current())

    def _holds(self, value):
        try:
            return self.container[self.key] is value
        except Exception:  # the container has no such element
            return False


class _Attribute:
    """The attribute `owner.name`."""

    def __init__(self, owner, name):
        self.owner = owner
        self.name = name

    def is_missing(self):
        return False

    def maybe(self):
        return attributes.existence(self.owner, self.name)

    def delete(self, value):
        if getattr(self.owner, "__dict__", {}).get(self.name) is value and not isinstance(self.owner, type):
            del self.owner.__dict__[self.name]


def _part(function, name):
    """Returns the element or attribute with a name such as `s.counts[k]`. Returns None for a plain variable, or if the name
    cannot be evaluated. `function` is a function that uses the name."""
    parts = _parts(name)
    if parts is None:
        return None
    kind, container, key = parts
    try:
        cells = zip(function.__code__.co_freevars, function.__closure__ or ())
        scope = {name: cell.cell_contents for name, cell in cells}
        container = eval(container, function.__globals__, scope)
        return kind(container, key if isinstance(key, str) else eval(key, function.__globals__, scope))
    except Exception:  # for example, a variable is unbound; the code that uses the part raises then
        return None


@functools.lru_cache(maxsize=None)
def _parts(name):
    """Returns the class of a part, the code of its container, and either the part's name or the code of its key."""
    tree = ast.parse(name, mode="eval").body
    if not isinstance(tree, (ast.Subscript, ast.Attribute)):
        return None
    code = compile(ast.Expression(tree.value), "<container>", "eval")
    if isinstance(tree, ast.Attribute):
        return _Attribute, code, tree.attr
    if isinstance(tree.slice, ast.Slice):
        return None
    return _Element, code, compile(ast.Expression(tree.slice), "<key>", "eval")


def returned(value):
    """Returns the return value of a function. `value` is the value after its last statement."""
    if isinstance(value, UndefinedReturnValue):
        return None
    return value


def resolve_return(staging, maybe, name):
    """Returns the return value of a function that returns a value on some paths and None on others. Staged code cannot
    continue with both, so one is assumed: the result for the usual sizes, or for the arguments of this call."""
    flag = scalars.lower(staging, maybe.flag)
    has_value = staging.sizes.decided(flag, any_integer=True)
    if has_value is None:
        (has_value,) = staging.probe(flag) or (None,)
        if has_value is None:  # unknown below a staged condition or in a loop
            has_value = staging.answers.get(name, True)
        if has_value:
            staging.assume(flag, f"`{name}` returns a value")
        else:
            staging.assume(staging.emit(NOT, [flag], [BOOL])[0], f"`{name}` returns None")
    staging.answers[name] = has_value
    return maybe.value if has_value else None
