"""Dtypes, sizes and layouts of the operands, for the rules of this folder."""

import torch

aten = torch.ops.aten

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
NUMBERS = (*FLOATS, *INTEGERS)

#: Reductions refuse tensors with more dimensions.
MAX_DIMENSIONS = 64


def any_layout(tensor):
    return True


def is_row_major(tensor):
    """Returns whether the strides decrease from dimension to dimension, possibly with gaps. Elementwise results of such
    operands are contiguous."""
    strides = [stride for size, stride in zip(tensor.shape, tensor.stride()) if size > 1 and stride]
    return all(outer > inner for outer, inner in zip(strides, strides[1:]))


def is_no_image(tensor):
    """Returns whether a tensor is certainly not an image with a layout such as channels-last. Some operators preserve that
    layout."""
    return tensor.dim() < 4 or tensor.is_contiguous()


def is_tensor(value):
    return isinstance(value, torch.Tensor)


def broadcast(*shapes):
    """Returns the common shape; None if there is none."""
    rank = max(map(len, shapes))
    common = [1] * rank
    for shape in shapes:
        for place, size in enumerate(shape, rank - len(shape)):
            if size != 1:
                if common[place] not in (1, size):
                    return None
                common[place] = size
    return common


def result(dtype, size):
    return None if size is None else [(dtype, size)]


def index_of(tensor, dim):
    """Returns the index of a dimension, counted from 0; None if the tensor has no such dimension."""
    rank = tensor.dim()
    return dim % rank if rank and -rank <= dim < rank else None


def have_one_float_dtype(*tensors):
    """Returns whether the tensors have the same dtype, and it is a floating-point dtype."""
    return tensors[0].dtype in FLOATS and all(tensor.dtype == tensors[0].dtype for tensor in tensors)


def overloads(names, rule):
    """Returns a dictionary from each of these operators to the rule. `names` is a string such as `add.Tensor mul.Tensor`."""
    found = {}
    for name in names.split():
        packet, _, overload = name.partition(".")
        found[getattr(getattr(aten, packet), overload or "default")] = rule
    return found
