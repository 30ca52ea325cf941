"""View operations: how each is recorded, and how a write through a view is inverted."""

import torch

from ..conversion import spans
from ..errors import StagingError
from ..record.ops import of_torch
from ..record.types import TensorType

aten = torch.ops.aten

_RESHAPES = {aten.view.default, aten._unsafe_view.default, aten._reshape_alias.default, aten.reshape.default}
_IDENTITIES = {aten.alias.default, aten.lift_fresh.default}

#: Operator of eager mode that returns a lazy view -> the operator of the graph that computes its values.
_AS_VALUES = {aten._conj.default: aten._conj_physical.default, aten._neg_view.default: aten.neg.default}

_RESHAPE = of_torch(aten.reshape.default)
_PERMUTE = of_torch(aten.permute.default)
_UNBIND, _SELECT, _SLICE = aten.unbind, aten.select.int, aten.slice.Tensor


def operation(func):
    """Returns the operation that is recorded for an operator of torch."""
    return of_torch(_AS_VALUES.get(func, func))


def emit(staging, step, value, type):
    """Returns the value after one view operation. `view` becomes `reshape`: values of the graph are immutable, and their
    memory layout may differ from that of the eager tensor."""
    if step.op in _IDENTITIES:
        return value
    if step.op in _RESHAPES:
        return staging.emit(_RESHAPE, [value, step.rest[0]], [type])[0]
    return staging.emit(operation(step.op), [value, *step.rest], [type])[0]


def repeating(op):
    """Returns a function that applies a view operation to a tensor that is not staged, given its other arguments. The memory
    of the tensor may have another layout than that of the traced call, in which `reshape` returned a view."""
    if op is aten.detach.default:
        return lambda tensor, rest: tensor.detach()
    if op in _RESHAPES:
        return lambda tensor, rest: aten.reshape.default(tensor, rest[0])
    names = [argument.name if argument.kwarg_only else None for argument in op._schema.arguments[1:]]

    def repeat(tensor, rest):
        named = {name: value for name, value in zip(names, rest) if name is not None}
        return op(tensor, *[value for name, value in zip(names, rest) if name is None], **named)

    return repeat


def emit_inverse(staging, step, operand, value):
    """Returns the new value of the viewed tensor `operand` when `value` is assigned to its view."""
    inverse = _INVERSES.get(step.op)
    result = None if inverse is None else inverse(staging, step, operand, value)
    if result is None:
        raise StagingError(f"an in-place write through {operation(step.op)} cannot be staged", spans.current())
    return result


def _unchanged(staging, step, operand, value):
    return value


def _scattered(operator):
    op = of_torch(operator)

    def inverse(staging, step, operand, value):
        return staging.emit(op, [operand, value, *step.rest], [operand.type])[0]

    return inverse


def _inverted_by(operator, arguments=0):
    """Returns the inverse of a view operation: an operator that takes the value and the first `arguments` arguments of the
    view operation."""
    op = of_torch(operator)

    def inverse(staging, step, operand, value):
        return staging.emit(op, [value, *step.rest[:arguments]], [operand.type])[0]

    return inverse


def _reshaped(staging, step, operand, value):
    return staging.emit(_RESHAPE, [value, staging.operand(step.sizes)], [operand.type])[0]


def _permuted(staging, step, operand, value):
    rank = len(operand.type.dims)
    dims = [d % rank for d in step.rest[0]]
    return staging.emit(_PERMUTE, [value, [dims.index(d) for d in range(rank)]], [operand.type])[0]


def _expanded(staging, step, operand, value):
    return value if operand.type.dims == value.type.dims else None


_INVERSES = {
    aten.select.int: _scattered(aten.select_scatter.default),
    aten.slice.Tensor: _scattered(aten.slice_scatter.default),
    aten.diagonal.default: _scattered(aten.diagonal_scatter.default),
    aten.as_strided.default: _scattered(aten.as_strided_scatter.default),
    **dict.fromkeys((*_IDENTITIES, aten.detach.default), _unchanged),
    **dict.fromkeys((*_RESHAPES, aten.squeeze.default, aten.squeeze.dim, aten.squeeze.dims), _reshaped),
    aten.unsqueeze.default: _inverted_by(aten.squeeze.dim, 1),
    aten.transpose.int: _inverted_by(aten.transpose.int, 2),
    aten.t.default: _inverted_by(aten.t.default),
    aten.permute.default: _permuted,
    aten.expand.default: _expanded,
    **{view: _inverted_by(op) for view, op in _AS_VALUES.items()},
    aten.view_as_real.default: _inverted_by(aten.view_as_complex.default),
    aten.view_as_complex.default: _inverted_by(aten.view_as_real.default),
}


def parts(func, args, results):
    """Returns the view operations that compute the results of an operation with several results, one for each result."""
    packet = func.overloadpacket
    if packet is _UNBIND:
        dim = args[1] if len(args) > 1 else 0
        return [(_SELECT, [dim, index]) for index in range(len(results))]
    dim = args[2] if len(args) > 2 else 0
    spec, start = [], 0
    for result in results:
        end = start + result.shape[dim]
        spec.append((_SLICE, [dim, start, end, 1]))
        start = end
    return spec


def result_type(fake):
    dims = tuple(n if isinstance(n, int) else None for n in fake.shape)
    return TensorType(fake.dtype, dims, fake.device)
