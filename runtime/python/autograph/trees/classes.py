"""Determines which classes refer to themselves, so that their objects are nodes of trees, lists or graphs.

    @dataclass
    class Node:
        value: torch.Tensor
        left: "Node | None" = None

A class refers to itself if its annotations, or those of its `__init__`, name the class, directly or through other
classes, or if one of its objects has been seen to hold another object of the class."""

import enum
import functools
import re
import sys
import types
import typing

import torch

#: Packages whose objects are not nodes.
_LIBRARIES = ("torch", "numpy", "builtins", "autograph")
_OTHERS = (
    torch.nn.Module, torch.optim.Optimizer, enum.Enum, BaseException, type, dict, list, set, frozenset, str, bytes, int, float,
)  # fmt: skip
_HOOKS = ("__getattribute__", "__getattr__", "__setattr__", "__delattr__")
_OF_PYTHON = 1 << 9  # the flag of classes that a `class` statement has created
_NAME = re.compile(r"[A-Za-z_]\w*")

#: Classes whose objects neither are nodes nor contain nodes. Each call looks up the classes of its arguments here.
_OTHER_CLASSES = {
    torch.Tensor, torch.nn.Parameter, int, float, bool, complex, str, bytes, type(None), torch.dtype, torch.device,
}  # fmt: skip
_MAX_CLASSES = 4096

_OBSERVED = set()  # classes with an object that has been seen to hold another object of its class


@functools.lru_cache(maxsize=4096)
def is_plain(kind):
    """Returns whether the objects of a class only hold attributes, so that they can be rows of a table of attributes."""
    if issubclass(kind, _OTHERS) or hasattr(kind, "__ag_inline__"):
        return False
    root = kind.__module__.partition(".")[0]
    if root in _LIBRARIES or root in sys.stdlib_module_names and root != "__main__":
        return False
    if issubclass(kind, tuple):
        return is_record(kind)
    is_frozen = getattr(getattr(kind, "__dataclass_params__", None), "frozen", False)
    hooks = _HOOKS[:2] if is_frozen else _HOOKS
    if any(getattr(kind, name, None) not in (None, getattr(object, name, None)) for name in hooks):
        return False
    return all(base is object or base.__flags__ & _OF_PYTHON for base in kind.__mro__)  # a base in C could have other state


def occur_in(values):
    """Returns whether the values, or lists, tuples and dictionaries among them, contain an object of a class that is
    known to refer to itself. This runs in each call, so it is fast."""
    for value in values:
        kind = type(value)
        if kind in _OTHER_CLASSES:
            continue
        if kind is list or kind is tuple or kind is dict:
            if occur_in(value.values() if kind is dict else value):
                return True
        elif is_plain(kind):
            if is_node_class(kind) or is_record(kind) and _is_observed(value, kind):
                return True
        elif len(_OTHER_CLASSES) < _MAX_CLASSES:
            _OTHER_CLASSES.add(kind)
    return False


def is_record(kind):
    """Returns whether a class is a named tuple."""
    return issubclass(kind, tuple) and isinstance(getattr(kind, "_fields", None), tuple)


def is_node_class(kind):
    """Returns whether a plain class is known to refer to itself."""
    return _names_itself(kind) or kind in _OBSERVED


def observe(values):
    """Looks for objects that hold another object of their class. Returns whether there is one; its class is then known to
    refer to itself. This is slower than `occur_in`, so it is called only before a new trace."""
    return any([is_plain(type(v)) and type(v) not in _OBSERVED and _is_observed(v, type(v)) for v in values])


@functools.lru_cache(maxsize=4096)
def _names_itself(kind):
    """Returns whether the annotations of a class name it, directly or through the annotations of other classes."""
    pending, seen = list(named_classes(kind)), set()
    while pending:
        other = pending.pop()
        if other is kind or issubclass(kind, other):
            return True
        if other not in seen:
            seen.add(other)
            pending += named_classes(other)
    return False


def named_classes(kind):
    """Returns the plain classes named in the annotations of a class, of its bases, and of their `__init__`."""
    found = set()
    for base in kind.__mro__:
        for hint in _hints(base).values():
            found |= _classes_in(hint, kind, vars(sys.modules.get(base.__module__, typing)))
    return found


def _hints(base):
    """Returns the annotations of a class itself: of its attributes, and of the parameters of its `__init__`."""
    init = base.__dict__.get("__init__")
    of_init = init.__annotations__ if isinstance(init, types.FunctionType) else {}
    return {**of_init, **(base.__dict__.get("__annotations__") or {})}


def annotated(kind, name):
    """Returns the plain classes that the annotation of an attribute names."""
    for base in kind.__mro__:
        hints = _hints(base)
        if name in hints:
            return _classes_in(hints[name], kind, vars(sys.modules.get(base.__module__, typing)))
    return set()


def _classes_in(hint, kind, scope):
    """Returns the plain classes in an annotation, which may be a text."""
    if isinstance(hint, typing.ForwardRef):
        hint = hint.__forward_arg__
    if isinstance(hint, str):
        names = {base.__name__: base for base in reversed(kind.__mro__) if base is not object}
        found = [names.get(name) or scope.get(name) for name in _NAME.findall(hint)]
        return {other for other in found if isinstance(other, type) and is_plain(other)}
    if isinstance(hint, type) and not typing.get_args(hint):
        return {hint} if is_plain(hint) else set()
    return set().union(*(_classes_in(part, kind, scope) for part in typing.get_args(hint)))


def _is_observed(value, kind):
    """Returns whether an object holds another object of its class, in an attribute or in a list or tuple that is an
    attribute."""
    names = _slots(kind)
    held = value.__dict__.values() if kind.__dictoffset__ else ()
    if names:
        held = [*held, *(getattr(value, name, None) for name in names)]
    for item in tuple.__iter__(value) if issubclass(kind, tuple) else held:
        which = type(item)
        if which is kind or (which is list or which is tuple) and kind in set(map(type, item)):
            _OBSERVED.add(kind)
            return True
    return False


@functools.lru_cache(maxsize=4096)
def _slots(kind):
    """Returns the names of the slots of a class and its bases."""
    members = (item for base in kind.__mro__ for item in base.__dict__.items())
    return [name for name, member in members if isinstance(member, types.MemberDescriptorType)]
