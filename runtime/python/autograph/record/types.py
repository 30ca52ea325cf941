"""The types of values: tensors, numbers, lists and tuples. They are the types of the runtime's graphs."""

from .._runtime import ListType, TensorType, TupleType, Type, dtype_names

__all__ = [
    "BOOL", "DTYPES", "FLOAT", "INT", "NONE", "STR", "ListType", "TensorType", "TupleType", "Type", "gradient_type",
    "is_differentiable",
]  # fmt: skip

INT, FLOAT, BOOL, STR, NONE = Type.INT, Type.FLOAT, Type.BOOL, Type.STR, Type.NONE

#: The dtypes of graphs, with their names in the text of a graph.
DTYPES = dtype_names()


def is_differentiable(dtype):
    """Returns whether a tensor of this dtype can have a gradient."""
    return dtype.is_floating_point or dtype.is_complex


def gradient_type(type):
    """Returns the type of the gradient of a value; None if it has none."""
    if isinstance(type, TensorType):
        return type if is_differentiable(type.dtype) else None
    if isinstance(type, ListType):
        element = gradient_type(type.element)
        return None if element is None else ListType(element)
    if isinstance(type, TupleType):
        items = tuple(map(gradient_type, type.items))
        return TupleType(tuple(item or NONE for item in items)) if any(items) else None
    return None
