"""Functions of torch that take a list of tensors, for lists whose length is known only when the graph runs."""

import torch

from ..conversion import spans
from ..errors import StagingError
from ..record import lengths
from ..record.ops import LIST_SLICE, of_torch
from ..record.types import TensorType

_STACK, _CAT = of_torch(torch.ops.aten.stack.default), of_torch(torch.ops.aten.cat.default)
_JOINS = {torch.cat, torch.concat, torch.concatenate}


def call(staging, func, args, kwargs):
    items, *rest = args
    dim = rest[0] if rest else kwargs.get("dim", 0)
    if func is torch.stack:
        return _stack(staging, items, dim)
    if func in _JOINS:
        return _cat(staging, items, dim)
    if func in (torch.hstack, torch.vstack):
        rank = len(_element(items).dims)
        return _cat(staging, items, 1 if func is torch.hstack and rank > 1 else 0)
    if func is torch.sum:
        return _stack(staging, items, 0).sum(0)
    raise StagingError(f"`{getattr(func, '__name__', func)}` of a staged list cannot be staged", spans.current())


def _element(items):
    if items.spec.element is None:
        message = "this list is always empty, so the type of its elements is unknown"
        raise StagingError(message, spans.current())
    type = items.spec.element.types[0]
    if not isinstance(type, TensorType):
        raise StagingError("only a list of tensors can be stacked", spans.current())
    return type


def _stack(staging, items, dim):
    element, node = _element(items), items.value.node
    if node is not None and node.op == LIST_SLICE and list(node.args[1:]) == [None, None, -1]:
        return torch.flip(_stacked(staging, node.args[0], element, dim), [dim])  # the native tier has no reversed lists
    return _stacked(staging, items.value, element, dim)


def _stacked(staging, value, element, dim):
    at = dim % (len(element.dims) + 1)
    dims = (*element.dims[:at], lengths.known(value) or None, *element.dims[at:])
    type = TensorType(element.dtype, dims, element.device)
    return staging.fresh(staging.emit(_STACK, [value, dim], [type])[0])


def _cat(staging, items, dim):
    element = _element(items)
    if not element.dims:
        raise RuntimeError("zero-dimensional tensor (at position 0) cannot be concatenated")
    at = dim % len(element.dims)
    count, size = lengths.known(items.value), element.dims[at]
    joined = count * size if count and size is not None else None
    dims = (*element.dims[:at], joined, *element.dims[at + 1 :])
    type = TensorType(element.dtype, dims, element.device)
    return staging.fresh(staging.emit(_CAT, [items.value, dim], [type])[0])
