"""Stand-ins: fake tensors, symbolic sizes, and staged numbers, strings and lists, which are valid only while tracing."""

import enum
import gc
import types

import torch
from torch._subclasses.fake_tensor import FakeTensor

from ..capture import scalars
from ..capture.rows import StandIn
from ..capture.texts import Text
from ..capture.unbound import Maybe
from .ranges import Iterable
from .values import List

_SYMBOLS = (torch.SymInt, torch.SymFloat, torch.SymBool)
_LEAVES = (str, bytes, int, float, complex, type(None), torch.dtype, torch.device, enum.Enum, types.ModuleType, type,
           types.CodeType, types.BuiltinFunctionType, torch.Tensor)  # fmt: skip


def is_stand_in(value):
    if isinstance(value, (FakeTensor, _SYMBOLS, Text, Maybe, Iterable, StandIn)) or scalars.is_staged(value):
        return True
    return isinstance(value, List) and value.value is not None


def holds_stand_ins(value, outside):
    """Returns whether a stand-in can be reached from an object, without passing through objects that exist outside of the
    trace."""
    pending, seen = [value], set()
    while pending:
        value = pending.pop()
        if is_stand_in(value):
            return True
        if id(value) in seen or id(value) in outside or isinstance(value, _LEAVES):
            continue
        seen.add(id(value))
        if isinstance(value, types.FunctionType):
            pending += [*(value.__closure__ or ()), value.__defaults__, value.__kwdefaults__, value.__dict__]
        else:
            pending += gc.get_referents(value)
    return False
