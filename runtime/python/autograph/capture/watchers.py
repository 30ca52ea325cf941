"""The objects to which each kind of object refers. A function watches one object: it adds the entries of the object to
`Objects`, and returns the objects that this object refers to."""

import enum
import functools
import sys
import threading
import types
import weakref

import torch

from ..conversion.converter import is_cache, is_converted, is_user_code
from . import contents, heap, permanent
from .code_reads import LIBRARIES
from .places import MAPPINGS, SEQUENCES, ClosureVariable, Contents, Items

#: The elements of larger containers are data, not state.
LARGEST = 1024


def _function(objects, function, born):
    """Watches a user function: the variables of enclosing functions, its defaults and attributes."""
    if function.__code__ in objects.in_python:
        return []
    if not (is_converted(function) or is_user_code(function)):
        objects.pin(_variables(function))
        return _variables(function)
    objects.pin(defaults_of(function))
    objects.note_code(function)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        if name not in ("ag__", "__class__"):
            objects.add((id(cell), name), heap.Variable(ClosureVariable(cell, name)), born)
    inner = [*_variables(function), *defaults_of(function)]
    return [*inner, *_attributes(objects, function, born)]


def of_blocks(function):
    """Returns the values of the variables that a block of converted code and its inner blocks use."""
    found, blocks, seen = [], [function], set()
    while blocks:
        for value in _variables(blocks.pop()):
            if isinstance(value, types.FunctionType) and not is_converted(value) and not is_user_code(value):
                if id(value) not in seen:
                    seen.add(id(value))
                    blocks.append(value)
            else:
                found.append(value)
    return found


def defaults_of(function):
    return [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]


def _variables(function):
    """Returns the values of the variables that a function uses from enclosing functions."""
    found = []
    if function.__closure__ is None:
        return found
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        if name == "ag__" or is_cache(function, name):
            continue
        try:
            found.append(cell.cell_contents)
        except ValueError:  # not bound yet
            pass
    return found


def _staged_function(objects, function, born):
    """Watches a function with `@ag.function`: the attributes that the user has set on it, and the Python function."""
    entry = heap.Attributes(function, hidden=frozenset(type(function)(_nothing).__dict__))
    objects.add((id(function), "__dict__"), entry, born)
    return [function.python_function, *entry.children()]


def _nothing():
    pass


def _method(objects, method, born):
    return [method.__self__, method.__func__]


def _builtin_method(objects, method, born):
    """`items.append`."""
    return [] if isinstance(method.__self__, types.ModuleType) else [method.__self__]


def _partial(objects, partial, born):
    objects.defaults += [*partial.args, *partial.keywords.values()] if born == 0 else []
    return [partial.func, *partial.args, *partial.keywords.values(), *_attributes(objects, partial, born)]


def _immutable(objects, value, born):
    return list(value) if len(value) <= LARGEST else []


def _container(objects, container, born):
    if isinstance(container, list) and "value" in getattr(type(container), "__slots__", ()):
        entry = heap.StagedList(container)
    else:
        entry = heap.Container(Items(container), len(container) > LARGEST)
    objects.add((id(container), None), entry, born)
    inner = list(entry.children())
    return inner if type(container) in _PLAIN_CONTAINERS else [*inner, *watch_object(objects, container, born)]


def _opaque(objects, value, born):
    kind = contents.kind_of(type(value))
    if born == 0 and not kind.restores and permanent.may_abandon():
        permanent.refuse(f"the function can change {kind.describe(value)} from outside")
    entry = heap.Opaque(Contents(value, kind))
    objects.add((id(value), None), entry, born)
    inner = list(entry.children())
    return inner if type(value).__module__ in LIBRARIES else [*inner, *watch_object(objects, value, born)]


def _noted(objects, value, born):
    """Notes that an object exists whose state is unknown (`permanent.py`)."""
    return []


def watch_object(objects, value, born):
    """Watches an object of a user's class: its attributes and its class."""
    inner = _attributes(objects, value, born) if hasattr(value, "__dict__") else []
    if not _is_user_class(type(value)):
        objects.pin(inner)
    slots = slots_of(type(value))
    if slots:
        entry = heap.Slots(value, slots)
        objects.add((id(value), "__slots__"), entry, born)
        inner += objects.followed(value, entry)
    return [*inner, *(kind for kind in type(value).__mro__ if _is_user_class(kind))]


def watch_tensor(objects, tensor, born):
    """Watches the attributes that users have set on a tensor."""
    return _attributes(objects, tensor, born)


def _attributes(objects, value, born):
    entry = heap.Attributes(value)
    objects.add((id(value), "__dict__"), entry, born)
    return objects.followed(value, entry)


def _module(objects, module, born):
    """Watches a `torch.nn.Module`. Its hooks are not state themselves, but they may change state."""
    objects.modules.append(module)
    entry = heap.Attributes(module)
    is_user = _is_user_class(type(module))
    objects.is_outer = objects.is_outer and is_user
    objects.add((id(module), "__dict__"), entry, born)
    for hook in _hooks(module):
        objects.unseen(hook)
    if objects.named is not None:
        return objects.followed(module, entry)
    if not is_user:
        inner = [module.__dict__.get(name) for name in ("_parameters", "_buffers")]
        inner += _set_by_user(module)
        return [*inner, *filter(_has_state, module.__dict__.get("_modules", {}).values()), *_hooks(module)]
    inner = [value for name, value in entry.state.items() if name not in _OF_EVERY_MODULE]
    return [*inner, *_hooks(module), *(kind for kind in type(module).__mro__ if _is_user_class(kind))]


def _has_state(module):
    """Returns whether a module of torch, such as `torch.nn.Sequential`, contains a module of the user, or has hooks or
    attributes that the user has set."""
    return module is not None and any(
        _is_user_class(type(part)) or _hooks(part) or _set_by_user(part) for part in module.modules()
    )


def _set_by_user(module):
    """Returns the objects with state in the attributes of a module of torch: `layer.losses = []`. Torch itself sets such
    attributes in recurrent modules only, and their names begin with an underscore."""
    return [
        value
        for name, value in module.__dict__.items()
        if not name.startswith("_") and not isinstance(value, _STATELESS) and watcher_of(type(value)) is not None
    ]


def _hooks(module):
    return [*module.__dict__.get("_forward_pre_hooks", {}).values(), *module.__dict__.get("_forward_hooks", {}).values()]


_OF_EVERY_MODULE = torch.nn.Module().__dict__.keys() - {"_parameters", "_buffers", "_modules"}


def _class(objects, kind, born):
    """Watches the attributes of a user's class other than methods."""
    if not _is_user_class(kind):
        return []
    entry = heap.ClassAttributes(kind, objects.hidden.get(kind, frozenset()))
    objects.add((id(kind), "__dict__"), entry, born)
    objects.pin(value for name, value in entry.state.items() if name.startswith("__"))
    objects.unseen_class(kind)
    return [value for value in entry.children() if not isinstance(value, heap.DEFINITIONS)]


def _python_module(objects, module, born):
    """Watches the variables of a user's module that the code names."""
    root = module.__name__.partition(".")[0]
    if root in LIBRARIES or root in sys.stdlib_module_names:
        return []
    entry = heap.ModuleVariables(module, objects.names)
    objects.add((id(module), "__dict__"), entry, born)
    return entry.children()


def _is_user_class(kind):
    return _root(kind) not in (*LIBRARIES, *_NOT_STATE) and not issubclass(kind, enum.Enum)


def _root(kind):
    return str(kind.__module__).partition(".")[0]


@functools.lru_cache(maxsize=None)
def slots_of(kind):
    """Returns the slots of a class by name. Members of classes written in C, such as `datetime.timedelta.days`, are not
    slots, and may not be assignable."""
    return {
        name: member
        for base in reversed(kind.__mro__)
        if "__slots__" in base.__dict__ and base.__module__.partition(".")[0] not in LIBRARIES
        for name, member in base.__dict__.items()
        if isinstance(member, types.MemberDescriptorType)
    }


#: The classes of tensors whose attributes are watched if there are any.
PLAIN_TENSORS = (torch.Tensor, torch.nn.Parameter)

_PLAIN_CONTAINERS = (list, *SEQUENCES, *MAPPINGS)
_ATOMS = (torch.Tensor, torch.dtype, torch.device, str, bytes, int, float, complex, type(None), enum.Enum)

#: Classes of values that modules of torch have in attributes, and that hold no state.
_STATELESS = (*_ATOMS, tuple, types.FunctionType, types.BuiltinFunctionType, torch.nn.Module)

#: Modules of the standard library whose objects serve the interpreter: they hold no state of a program.
_NOT_STATE = ("logging", "threading", "_thread", "importlib", "_frozen_importlib", "_frozen_importlib_external", "abc",
              "typing", "inspect", "ast", "warnings", "weakref", "_weakref", "re", "ctypes", "_ctypes", "contextvars",
              "multiprocessing", "concurrent", "asyncio", "unittest", "pytest", "_pytest", "pathlib")  # fmt: skip


@functools.lru_cache(maxsize=None)
def watcher_of(kind):
    """Returns the function that watches objects of a class; None if they have no state."""
    if issubclass(kind, _ATOMS):
        return None
    if issubclass(kind, torch.nn.Module):
        return _module
    if issubclass(kind, type):
        return _class
    if hasattr(kind, "__ag_inline__"):
        return _staged_function
    if issubclass(kind, types.ModuleType):
        return _python_module
    if issubclass(kind, types.FunctionType):
        return _function
    if issubclass(kind, types.MethodType):
        return _method
    if issubclass(kind, (types.BuiltinMethodType, types.MethodWrapperType)):
        return _builtin_method
    if issubclass(kind, functools.partial):
        return _partial
    if issubclass(kind, (*SEQUENCES, *MAPPINGS)):
        return _container
    if contents.kind_of(kind) is not None:
        return _opaque
    if issubclass(kind, (tuple, frozenset)):
        return _immutable
    if issubclass(kind, (torch.optim.Optimizer, *_WITH_ATTRIBUTES)) or kind.__module__ in _STATEFUL:
        return watch_object
    if issubclass(kind, torch.distributions.Distribution):
        return watch_object
    if _is_user_class(kind) and (kind.__dictoffset__ or slots_of(kind)):
        return watch_object
    return _noted if permanent.is_opaque(kind) and _root(kind) not in LIBRARIES else None


#: The watchers of objects that do not allow replacing a list that they hold.
FIXED = (_immutable, _partial, _method, _builtin_method, _opaque, _python_module)

#: Classes of the standard library whose objects have state of the program in attributes.
_WITH_ATTRIBUTES = (threading.local, weakref.WeakKeyDictionary, weakref.WeakValueDictionary)

#: Modules of libraries whose objects a training step changes.
_STATEFUL = ("torch.optim.lr_scheduler", "torch.optim.swa_utils", "torch.amp.grad_scaler", "autograph.api.checkpoint",
             "torch.utils.data.dataset")  # fmt: skip
