"""How tensors lie in memory. Torch's own code asks (`contiguous` copies or not), and so what is recorded depends on it:
arguments that lie in different ways have traces of their own. How a variable of a loop or a gradient will lie is not
known, so that the operators that take it for granted are given contiguous tensors."""

import math

import torch

aten = torch.ops.aten

#: Below autograd they are only called with contiguous tensors, or remember which layout they met.
_TAKE_IT_FOR_GRANTED = {
    aten.native_group_norm.default,
    aten._weight_norm_interface.default,
    aten._embedding_bag.default,
    aten._embedding_bag_forward_only.default,
    aten._linalg_det.default,
    aten._linalg_slogdet.default,
}


def takes_contiguous(func):
    return func in _TAKE_IT_FOR_GRANTED


def layout(tensor):
    """The dimensions from the outermost to the innermost, and whether there are gaps; None where it is contiguous."""
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
    """Those of a tensor of these sizes."""
    if layout is None:
        return None
    order, has_gaps = layout
    found = [0] * len(sizes)
    for place, dimension in enumerate(order):
        found[dimension] = math.prod((sizes[inner] for inner in order[place + 1 :]), start=1 + has_gaps)
    return found
