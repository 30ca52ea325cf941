"""Attributes that an object has on some paths of the graph only: `if n > 0: self.h = x`.

While the function is traced, a descriptor in the class checks each read: the graph raises where the attribute does not
exist."""

import types

from ..capture import scalars
from ..capture.places import MISSING, Attribute, ClassAttribute, SlotAttribute, is_heap_type
from ..capture.rows import StandIn
from ..capture.staging import current
from ..capture.unbound import Maybe, Undefined
from ..conversion import spans
from ..errors import StagingError
from ..record.ops import IF, Raise


class Conditional:
    """A descriptor for the attribute `name` of the objects of a class. A read returns the value that Python would find, and
    checks that it exists. `inherited` is the value of the class attribute."""

    __slots__ = ("name", "inherited")

    def __init__(self, name, inherited):
        self.name = name
        self.inherited = inherited

    def __get__(self, instance, owner=None):
        value = self.inherited if instance is None else instance.__dict__.get(self.name, self.inherited)
        if value is MISSING:
            kind = f"type object '{owner.__name__}'" if instance is None else f"'{type(instance).__name__}' object"
            raise AttributeError(f"{kind} has no attribute '{self.name}'")
        return _existing(instance, self.name, value) if isinstance(value, Maybe) else value

    def __set__(self, instance, value):
        instance.__dict__[self.name] = value

    def __delete__(self, instance):
        if self.name not in instance.__dict__:
            raise AttributeError(self.name)
        del instance.__dict__[self.name]


def _existing(instance, name, maybe):
    """Returns the value of an attribute. On the paths on which it does not exist, the graph raises an `AttributeError`."""
    staging = current()
    flag = scalars.lower(staging, maybe.flag)
    if flag is not True:
        with staging.record.new_region() as exists:
            pass
        with staging.record.new_region() as is_missing:
            message = f"'{type(instance).__name__}' object has no attribute '{name}'"
            staging.emit(Raise(AttributeError), [message], [])
        staging.emit(IF, [flag], [], regions=[exists, is_missing])
    return maybe.value


def watch(staging, place, value):
    """From now on, checks each read of an attribute that may not exist."""
    if not isinstance(place, Attribute) or not isinstance(value, Maybe) or not isinstance(value.absent, Undefined):
        return
    kind = type(place.owner)
    if isinstance(kind.__dict__.get(place.name), Conditional):
        return
    is_plain = not isinstance(place, (SlotAttribute, ClassAttribute)) and not isinstance(place.owner, types.FunctionType)
    if not is_plain or place.name in kind.__dict__ or not is_heap_type(kind):
        message = f"`{place}` is assigned on some paths only, so whether it exists is not known while tracing"
        raise StagingError(f"{message}\nhelp: assign it before", spans.current())
    staging.objects.hide(kind, place.name)
    type.__setattr__(kind, place.name, Conditional(place.name, place.inherited()))
    staging.conditional_attributes.append((kind, place.name))


def remove(staging):
    """Removes the checks, at the end of a trace."""
    while staging.conditional_attributes:
        type.__delattr__(*staging.conditional_attributes.pop())


def existence(owner, name):
    """Returns the attribute of an object as a `Maybe` if it exists on some paths only; otherwise None."""
    if isinstance(owner, StandIn):
        return None
    value = getattr(owner, "__dict__", {}).get(name) if isinstance(name, str) else None
    return value if isinstance(value, Maybe) and isinstance(value.absent, Undefined) else None
