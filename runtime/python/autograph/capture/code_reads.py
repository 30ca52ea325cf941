"""The names and methods that code may read: the names in the code, and the methods of a class that Python and torch
call."""

import dis
import functools
import sys
import types
from typing import NamedTuple

import torch

#: Packages whose classes and methods hold no code of the user.
LIBRARIES = ("torch", "numpy", "builtins", "autograph")


class Reads(NamedTuple):
    """The names that a code object and the code objects nested in it may read. `names` contains all names in it, and
    `scope` the names of globals."""

    names: frozenset
    scope: frozenset


@functools.lru_cache(maxsize=None)
def reads_of(code):
    """Returns the names in a code object."""
    names, instructions = set(code.co_names), list(dis.get_instructions(code))
    scope = {i.argval for i in instructions if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner = reads_of(constant)
            names |= inner.names
            scope |= inner.scope
        elif isinstance(constant, str) and constant.isidentifier():  # getattr(self, "rate")
            names.add(constant)
    if not _FORMATTING.isdisjoint(names) or any(i.opname == "FORMAT_VALUE" or i.argrepr in ("%", "%=") for i in instructions):
        names |= OF_TEXTS
    return Reads(frozenset(names), frozenset(scope))


@functools.lru_cache(maxsize=None)
def called_by_python(kind):
    """Returns the code of the properties and special methods of a class, which Python calls implicitly."""
    found = []
    for base in kind.__mro__:
        if base.__module__.partition(".")[0] in LIBRARIES:
            continue
        for name, member in base.__dict__.items():
            if isinstance(member, (property, functools.cached_property)):
                functions = [getattr(member, "fget", None) or getattr(member, "func", None)]
            else:
                functions = [member] if name.startswith("__") and name not in _NOT_IN_RUNS else []
            found += [f.__code__ for f in functions if isinstance(f, types.FunctionType)]
    return found


def functions_of(member):
    """Returns the Python functions of a member of a class or of a value that can be called."""
    kind = type(member)
    if issubclass(kind, types.FunctionType):
        return [member]
    if issubclass(kind, (types.MethodType, staticmethod, classmethod)):
        return functions_of(member.__func__)
    if issubclass(kind, property):
        return [f for each in (member.fget, member.fset, member.fdel) for f in functions_of(each)]
    if issubclass(kind, (functools.partial, functools.cached_property)):
        return functions_of(member.func)
    if issubclass(kind, (type, torch.nn.Module)) or is_of_library(kind):
        return []
    return functions_of(getattr(kind, "__call__", None))


def is_of_library(kind):
    return str(kind.__module__).partition(".")[0] in (*LIBRARIES, *sys.stdlib_module_names)


def unseen_members(kind):
    """Returns the functions of a class whose calls a trace does not see, because Python calls them implicitly:
    operators, properties, context managers, iterators. Leaves out `__call__`, functions of base classes, and generated
    methods of data classes."""
    found = []
    for name, member in list(kind.__dict__.items()):
        is_special = name.startswith("__") and name.endswith("__") and name not in (*_NOT_IN_RUNS, "__call__")
        if isinstance(member, types.FunctionType) and is_special:
            found.append(member)
        elif isinstance(member, (property, functools.cached_property)):
            found += functions_of(member)
    return [function for function in found if function.__code__.co_filename != "<string>"]


def is_of_python(kind):
    """Returns whether a class is one of the standard library."""
    return kind.__module__.partition(".")[0] in sys.stdlib_module_names


def implicit(kind):
    """Returns the methods of a class that Python and torch call."""
    special = {name for name, value in kind.__dict__.items() if name.startswith("__") and isinstance(value, types.FunctionType)}
    return special.difference(_NOT_IN_RUNS) | ({"forward"} if issubclass(kind, torch.nn.Module) else set())


#: Special methods that Python looks up by name in a class, and the method that modules call.
LOOKED_UP = {name for kind in (int, list, set) for name in dir(kind) if name.startswith("__")} | {
    "__bool__", "__call__", "__enter__", "__exit__", "__getattr__", "__get__", "__next__", "__missing__", "forward",
}  # fmt: skip

#: The methods that Python calls where code formats an object, and functions that format their arguments.
OF_TEXTS = {"__repr__", "__str__", "__format__"}
_FORMATTING = {"str", "repr", "print", "format", "join"}

#: Names of attributes and functions that return all attributes of an object.
OF_ALL = {"__dict__", "vars", "dir"}

_NOT_IN_RUNS = ("__init__", "__new__", "__init_subclass__", "__repr__", "__del__", "__getstate__", "__setstate__")
