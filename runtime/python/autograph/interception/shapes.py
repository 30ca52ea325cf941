"""The dtypes and sizes of the results of operators.

They depend on the operator, and on the dtypes, sizes and strides of its operands. A rule in `results` or torch computes
them, and they are cached. Results that share memory with an operand, and results for operands of unknown sizes, are not
cached.
"""

import torch
from torch._subclasses.fake_tensor import FakeTensor

from .._runtime import ambient
from . import results, schemas

aten = torch.ops.aten

#: Operators whose numbers determine sizes, although the type of these arguments in the schema is not `SymInt`.
SIZED_BY_NUMBERS = {getattr(aten.arange, overload) for overload in aten.arange.overloads()} | {
    getattr(packet, overload) for packet in (aten.range, aten.linspace, aten.logspace) for overload in packet.overloads()
}

_KNOWN = {}  # operator and operands -> (the container of the results, [(dtype, size, stride or None, device)])

#: The maximum number of results in the cache.
MOST = 10_000


def known(mode, func, args):
    """Returns the result of an operator; None if torch has to compute it. Arguments are in the order of the schema."""
    with torch._C.DisableTorchFunction():
        if schemas.is_view(func):
            return _viewed(mode, func, args)
        key = _key(func, args)
        if key is None:
            return None
        found = _KNOWN.get(key)
        if found is None:
            found = _by_rule(func, args)
            if found is None:
                return None
            _keep(key, found)
        return _made(mode, found)


def keep(mode, func, args, result):
    """Adds results that torch has computed to the cache."""
    with torch._C.DisableTorchFunction():
        parts = result if type(result) in (tuple, list) else [result]
        if schemas.is_view(func) or not all(_is_new(mode, part) for part in parts) or any(part is a for part in parts for a in args):
            return
        key = _key(func, args)
        if key is not None:
            described = [(part.dtype, part.shape, part.stride(), part.fake_device) for part in parts]
            _keep(key, (type(result) if parts is result else None, described))


def _keep(key, found):
    if len(_KNOWN) >= MOST:
        _KNOWN.clear()
    _KNOWN[key] = found


def _is_new(mode, part):
    return (
        isinstance(part, FakeTensor)
        and part.fake_mode is mode
        and part.constant is None
        and not part._has_symbolic_sizes_strides
        and not part.dtype.is_complex
        and part.layout is torch.strided
        and part.storage_offset() == 0
    )


def _viewed(mode, func, args):
    tensor = args[0]
    if type(tensor) is not FakeTensor or tensor._has_symbolic_sizes_strides or tensor.dtype.is_complex:
        return None
    return mode.view(func, *schemas.by_kind(func, args)) if all(map(_is_fixed, args[1:])) else None


def _is_fixed(argument):
    if isinstance(argument, (list, tuple)):
        return all(map(_is_fixed, argument))
    return not isinstance(argument, (torch.SymInt, torch.SymFloat, torch.SymBool, torch.Tensor))


def _by_rule(func, args):
    """Returns the results of an operator by its rule, if all tensors are on one device."""
    tensors = [a for a in args if isinstance(a, FakeTensor)]
    tensors += [part for a in args if isinstance(a, (list, tuple)) for part in a if isinstance(part, FakeTensor)]
    devices = {tensor.fake_device for tensor in tensors}
    with torch._C._DisableTorchDispatch():
        found = results.results(func, args, tensors) if len(devices) <= 1 else None
    if found is None:
        return None
    device = devices.pop() if devices else schemas.argument(func, args, "device") or torch.device("cpu")
    described = [(dtype, torch.Size(size), None, device) for dtype, size in found]
    return (tuple if len(found) > 1 else None), described


def _made(mode, found):
    kind, described = found
    made = [mode.empty(size, stride, dtype, device) for dtype, size, stride, device in described]
    return made[0] if kind is None else kind(made)


def _key(func, args):
    """Returns the key for the cache: everything on which the results depend. Returns None if a size is not known."""
    parts = [func, ambient()]
    for argument, type_ in zip(args, schemas.types(func)):
        part = _part(argument)
        if part is None:
            return None
        # The results depend on the class of a number, but not on its value.
        parts.append(part[0] if type_ == "number" and func not in SIZED_BY_NUMBERS else part)
    return tuple(parts)


def _part(argument):
    kind = type(argument)
    if kind is FakeTensor:
        if argument._has_symbolic_sizes_strides or argument.dtype.is_complex or argument.layout is not torch.strided:
            return None
        return kind, argument.dtype, argument.shape, argument.stride(), argument.fake_device
    if kind in (list, tuple):
        parts = tuple(map(_part, argument))
        return None if None in parts else (list, parts)
    return (kind, argument) if kind in _PLAIN else None


_PLAIN = (
    int, float, bool, str, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format,
)  # fmt: skip
