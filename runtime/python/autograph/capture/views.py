"""View operations: how each is recorded, and how a write through a view is inverted."""

import torch

from ..conversion import spans
from ..errors import StagingError
from ..record.types import TensorType

aten = torch.ops.aten

_RESHAPES = {aten.view.default, aten._unsafe_view.default, aten._reshape_alias.default, aten.reshape.default}
_IDENTITIES = {aten.alias.default, aten.lift_fresh.default}
_SCATTERS = {
    aten.select.int: "aten.select_scatter.default",
    aten.slice.Tensor: "aten.slice_scatter.default",
    aten.diagonal.default: "aten.diagonal_scatter.default",
    aten.as_strided.default: "aten.as_strided_scatter.default",
}


def emit(staging, step, value, type):
    """The value after one view operation. `view` becomes `reshape`: values are immutable, and their memory layout may
    differ from the tensor's in eager mode."""
    if step.op in _IDENTITIES:
        return value
    if step.op in _RESHAPES:
        return staging.emit("aten.reshape.default", [value, step.rest[0]], [type])[0]
    return staging.emit(name(step.op), [value, *step.rest], [type])[0]


def name(op):
    return _AS_VALUES.get(op) or str(op)


#: Lazy views of eager mode; a graph computes the values.
_AS_VALUES = {aten._conj.default: "aten._conj_physical.default", aten._neg_view.default: "aten.neg.default"}


def emit_inverse(staging, step, operand, value):
    """The value of the viewed tensor after its view was assigned this value."""
    op, rest, type = step.op, step.rest, operand.type
    scatter = _SCATTERS.get(op)
    if scatter is not None:
        return staging.emit(scatter, [operand, value, *rest], [type])[0]
    if op in _IDENTITIES or op is aten.detach.default:
        return value
    if op in _RESHAPES or op in (aten.squeeze.default, aten.squeeze.dim, aten.squeeze.dims):
        return staging.emit("aten.reshape.default", [value, list(step.sizes)], [type])[0]
    if op is aten.unsqueeze.default:
        return staging.emit("aten.squeeze.dim", [value, rest[0]], [type])[0]
    if op is aten.transpose.int:
        return staging.emit("aten.transpose.int", [value, *rest], [type])[0]
    if op is aten.t.default:
        return staging.emit("aten.t.default", [value], [type])[0]
    if op is aten.permute.default:
        rank = len(type.dims)
        dims = [d % rank for d in rest[0]]
        return staging.emit("aten.permute.default", [value, [dims.index(d) for d in range(rank)]], [type])[0]
    if op is aten.expand.default and type.dims == value.type.dims:
        return value
    if op in _AS_VALUES:
        return staging.emit(name(op), [value], [type])[0]
    if op is aten.view_as_real.default:
        return staging.emit("aten.view_as_complex.default", [value], [type])[0]
    if op is aten.view_as_complex.default:
        return staging.emit("aten.view_as_real.default", [value], [type])[0]
    raise StagingError(f"an in-place write through {name(op)} cannot be staged", spans.current())


def parts(func, args, results):
    """The single view operations that an operation with several results is equivalent to."""
    packet = func.overloadpacket
    if packet is aten.unbind:
        dim = args[1] if len(args) > 1 else 0
        return [(aten.select.int, [dim, index]) for index in range(len(results))]
    dim = args[2] if len(args) > 2 else 0
    spec, start = [], 0
    for result in results:
        end = start + result.shape[dim]
        spec.append((aten.slice.Tensor, [dim, start, end, 1]))
        start = end
    return spec


def result_type(fake):
    dims = tuple(n if isinstance(n, int) else None for n in fake.shape)
    return TensorType(fake.dtype, dims, fake.device)
