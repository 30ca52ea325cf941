"""The types of values: tensors, numbers, lists and tuples. Their text form is the syntax of the runtime's graphs."""

from typing import NamedTuple

import torch

INT, FLOAT, BOOL, STR, OBJECT = "int", "float", "bool", "str", "object"

DTYPES = {
    torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64",
    torch.int8: "i8", torch.int16: "i16", torch.int32: "i32", torch.int64: "i64", torch.uint8: "u8",
    torch.bool: "bool", torch.complex64: "c64", torch.complex128: "c128",
    torch.complex32: "c32", torch.uint16: "u16", torch.uint32: "u32", torch.uint64: "u64",
    torch.float8_e4m3fn: "f8e4m3", torch.float8_e5m2: "f8e5m2",
    torch.float8_e4m3fnuz: "f8e4m3z", torch.float8_e5m2fnuz: "f8e5m2z",
}  # fmt: skip


_BY_TEXT = {text: dtype for dtype, text in DTYPES.items()}


class TensorType(NamedTuple):
    """An unknown dimension is None."""

    dtype: torch.dtype
    dims: tuple
    device: torch.device

    def __str__(self):
        dims = ",".join("?" if d is None else str(d) for d in self.dims)
        device = "" if self.device.type == "cpu" else f"@{self.device}"
        return f"{DTYPES.get(self.dtype, self.dtype)}[{dims}]{device}"


def parse_type(text):
    """Parses a tensor type such as `f32[2,?]@cuda`."""
    shape, _, device = text.partition("@")
    name, _, dims = shape.rstrip("]").partition("[")
    sizes = tuple(None if n.strip() == "?" else int(n) for n in dims.split(",") if n)
    return TensorType(_BY_TEXT[name], sizes, torch.device(device or "cpu"))


class ListType:
    """The element type is None as long as the list is empty."""

    __slots__ = ("element",)

    def __init__(self, element=None):
        self.element = element

    def __str__(self):
        return f"list[{'f32[]' if self.element is None else self.element}]"

    def __eq__(self, other):
        return isinstance(other, ListType) and self.element == other.element

    def __hash__(self):
        return hash(ListType)


class TupleType(NamedTuple):
    items: tuple

    def __str__(self):
        return f"tuple[{','.join(map(str, self.items))}]"


def is_differentiable(dtype):
    """Whether a tensor of this dtype can have a gradient."""
    return dtype.is_floating_point or dtype.is_complex


def gradient_type(type):
    """The type of the gradient of a value; None if it has none."""
    if isinstance(type, TensorType):
        return type if is_differentiable(type.dtype) else None
    if isinstance(type, ListType):
        element = gradient_type(type.element)
        return None if element is None else ListType(element)
    if isinstance(type, TupleType):
        items = tuple(map(gradient_type, type.items))
        return TupleType(tuple(item or "none" for item in items)) if any(items) else None
    return None
