"""Determines which Python values are state, and the named edges from a value to its parts.

Plain values (numbers, strings, None) are stored in the edges. Other values are nodes. Functions, classes, modules and
dtypes are definitions: the program itself has them, and a checkpoint does not.
"""

import collections
import enum
import functools
import random
import sys
import types
import weakref

import torch
from torch.nn.parameter import UninitializedTensorMixin

from ..capture.heap import DEFINITIONS
from ..capture.places import SlotAttribute, is_heap_type, items_of

OBJECT, MODULE, OPTIMIZER, GROUP = "object", "module", "optimizer", "group"
LIST, DICT, SET, TUPLE, FROZENSET = "list", "dict", "set", "tuple", "frozenset"
TENSOR, ARRAY, STATE = "tensor", "array", "state"

ALL = (OBJECT, MODULE, OPTIMIZER, GROUP, LIST, DICT, SET, TUPLE, FROZENSET, TENSOR, ARRAY, STATE)
CONTAINERS = (LIST, DICT, SET, TUPLE, FROZENSET)
IMMUTABLE = (TUPLE, FROZENSET)
#: Kinds whose edges are numbered instead of named.
SEQUENCES = (LIST, TUPLE, SET, FROZENSET)

PLAIN = frozenset((int, float, bool, str, type(None), complex, bytes))

#: The kind of values that are not state. They are not saved.
DEFINITION = "definition"
_DEFINITIONS = (
    *DEFINITIONS, types.MethodType, types.MethodWrapperType, types.WrapperDescriptorType, types.GenericAlias,
    weakref.ref, weakref.ProxyType, weakref.CallableProxyType, torch.utils.hooks.RemovableHandle, torch.dtype,
    torch.device, torch.layout, torch.memory_format, type(Ellipsis), type(NotImplemented), range, slice,
)  # fmt: skip

_TENSORS = (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)

#: Attributes of every module that are not state: hooks, and attributes whose contents have their own edges.
_OF_MODULES = frozenset(vars(torch.nn.Module())) - {"training"}

#: Classes of the standard library that consist of attributes.
_RECORDS = (types.SimpleNamespace, "argparse.Namespace")


def is_plain(value):
    return type(value) in PLAIN


def kind_of(value):
    """Returns the kind of a value that is not plain; DEFINITION if it is not state; None if it cannot be saved."""
    if isinstance(value, torch.Tensor):
        return TENSOR if type(value) in _TENSORS or isinstance(value, UninitializedTensorMixin) else None
    if (
        isinstance(value, _DEFINITIONS)
        or hasattr(type(value), "__ag_inline__")
        or callable(value)
        and _is_function(value)
    ):
        return DEFINITION
    if isinstance(value, torch.nn.Module):
        return MODULE
    if isinstance(value, torch.optim.Optimizer):
        return OPTIMIZER
    if accessors(value) is not None:
        return STATE
    for kind, classes in _CONTAINER_CLASSES:
        if isinstance(value, classes):
            return kind
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic)):
        return ARRAY if value.dtype.kind in "biufcSUmM" else None
    return OBJECT if _consists_of_attributes(type(value)) else None


_CONTAINER_CLASSES = (
    (LIST, (list, collections.deque)), (DICT, dict), (SET, set), (TUPLE, tuple), (FROZENSET, frozenset),
)  # fmt: skip


def _is_function(value):
    """Returns whether a callable object has no state because it is a function or wraps a function, as
    `functools.partial` does."""
    return not is_heap_type(type(value)) or type(value).__module__.partition(".")[0] in sys.stdlib_module_names


def _consists_of_attributes(cls):
    if cls in _RECORDS or f"{cls.__module__}.{cls.__qualname__}" in _RECORDS:
        return True
    if not is_heap_type(cls) or issubclass(cls, (int, float, str, bytes, complex, enum.Enum, BaseException)):
        return False
    is_library = cls.__module__.partition(".")[0] in sys.stdlib_module_names
    return not is_library and (cls.__dictoffset__ != 0 or bool(_slots(cls)))


def accessors(value):
    """Returns the functions that read and write the state of an object whose class defines them; None without such
    functions."""
    if isinstance(value, torch.Generator):
        return value.get_state, value.set_state
    if isinstance(value, random.Random):
        return value.getstate, value.setstate
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.random.RandomState):
        return lambda: value.get_state(legacy=False), value.set_state
    if numpy is not None and isinstance(value, numpy.random.Generator):
        bits = value.bit_generator
        return lambda: bits.state, lambda state: setattr(bits, "state", state)
    read, write = getattr(type(value), "state_dict", None), getattr(type(value), "load_state_dict", None)
    return (value.state_dict, value.load_state_dict) if callable(read) and callable(write) else None


def is_variable(tensor):
    """Returns whether a tensor is a parameter: the program creates it, and a checkpoint only sets its value."""
    return (
        isinstance(tensor, torch.nn.Parameter) or isinstance(tensor, UninitializedTensorMixin) or tensor.requires_grad
    )


def _slots(cls):
    """Returns the descriptors of the attributes in slots."""
    found = {}
    for base in reversed(cls.__mro__):
        for name, slot in base.__dict__.items():
            if isinstance(slot, types.MemberDescriptorType) and is_heap_type(base) and not name.startswith("_ag_"):
                found[name] = slot
    return found


def slot_of(value, name):
    return _slots(type(value)).get(name)


def edges(kind, value):
    """Returns the parts of a value: pairs of a name, key or index, and the part."""
    if kind in (LIST, TUPLE):
        return list(enumerate(items_of(value) if kind == LIST else tuple.__iter__(value)))
    if kind == DICT:
        return list(items_of(value).items())
    if kind in (SET, FROZENSET):
        base = set if kind == SET else frozenset
        return list(enumerate(sorted(base.__iter__(value), key=_order)))
    if kind == GROUP:
        return [(name, part) for name, part in value.items() if name != "params"]
    if kind == MODULE:
        return list(_of_module(value).items())
    if kind == OPTIMIZER:
        others = {name: part for name, part in vars(value).items() if name not in _of_optimizers() and name[0] != "_"}
        return [("param_groups", value.param_groups), *others.items()]
    if kind == OBJECT:
        return list(_attributes(value).items())
    return []


def _order(element):
    return type(element).__name__, repr(element)


@functools.cache
def _of_optimizers():
    """Returns the attributes that every optimizer has, which are not state. They are computed when needed, because creating
    the first optimizer imports large parts of torch."""
    return frozenset(vars(torch.optim.Optimizer([torch.zeros(1)], {})))


def _attributes(value):
    found = {name: part for name, part in getattr(value, "__dict__", {}).items() if isinstance(name, str)}
    for name, slot in _slots(type(value)).items():
        part = SlotAttribute(value, name, slot)
        try:
            found[name] = part.slot.__get__(value)
        except AttributeError:
            pass
    return found


def _of_module(module):
    found = {name: part for name, part in _attributes(module).items() if name not in _OF_MODULES}
    return {**found, **module._parameters, **persistent_buffers(module), **module._modules}


def persistent_buffers(module):
    return {name: part for name, part in module._buffers.items() if name not in module._non_persistent_buffers_set}


def class_name(value):
    return f"{type(value).__module__}.{type(value).__qualname__}"
