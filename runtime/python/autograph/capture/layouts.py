"""Memory layouts of tensors. Torch's code depends on the layouts of its operands: `contiguous` copies or returns its
operand. So arguments with different layouts have different traces. The layout of a loop variable or gradient is not known
while tracing, so operators that require contiguous tensors get copies."""

import math

import torch

from ..conversion import spans
from ..errors import StagingError

aten = torch.ops.aten

#: Operators that, below autograd, require contiguous tensors or save the layout of their operands.
_NEED_CONTIGUOUS = {
    aten.native_group_norm.default,
    aten._weight_norm_interface.default,
    aten._embedding_bag.default,
    aten._embedding_bag_forward_only.default,
    aten._linalg_det.default,
    aten._linalg_slogdet.default,
}


def needs_contiguous(func):
    return func in _NEED_CONTIGUOUS


def layout(tensor):
    """Returns the dimensions from outermost to innermost, and whether there are gaps; None for a contiguous tensor."""
    if tensor.is_nested:
        raise StagingError("a nested tensor cannot be part of a graph", spans.current())
    if tensor.layout is not torch.strided or tensor.is_contiguous():
        return None
    order = tuple(sorted(range(tensor.dim()), key=tensor.stride, reverse=True))
    extent = 1
    for dimension in reversed(order):
        if tensor.size(dimension) != 1 and tensor.stride(dimension) != extent:
            return order, True
        extent *= tensor.size(dimension)
    return order, False


def strides(layout, sizes):
    """Returns the strides of a tensor with this layout and these sizes."""
    if layout is None:
        return None
    order, has_gaps = layout
    found = [0] * len(sizes)
    for place, dimension in enumerate(order):
        found[dimension] = math.prod((sizes[inner] for inner in order[place + 1 :]), start=1 + has_gaps)
    return found
