"""The record of a trace: values, nodes and regions in the order of the program.

It is kept until the function has been traced whole, since a branch may have to be completed after the other one is
known (`x = 1` here, `x = 0.5` there), and a loop is traced again when its state turns out to change type.
It knows no torch but for dtypes and devices.
"""

from contextlib import contextmanager
from typing import NamedTuple, Optional

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
    """A dimension that is not known is None."""

    dtype: torch.dtype
    dims: tuple
    device: torch.device

    def __str__(self):
        dims = ",".join("?" if d is None else str(d) for d in self.dims)
        device = "" if self.device.type == "cpu" else f"@{self.device}"
        return f"{DTYPES.get(self.dtype, self.dtype)}[{dims}]{device}"


def parse_type(text):
    """A tensor type from its text."""
    shape, _, device = text.partition("@")
    name, _, dims = shape.rstrip("]").partition("[")
    sizes = tuple(None if n.strip() == "?" else int(n) for n in dims.split(",") if n)
    return TensorType(_BY_TEXT[name], sizes, torch.device(device or "cpu"))


class ListType:
    """The element type is None until something is put into the list."""

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


class Value:
    __slots__ = ("type", "region", "name")

    def __init__(self, type, region, name=""):
        self.type = type
        self.region = region
        self.name = name

    @property
    def visible(self):
        """Whether the place where the value is made encloses the present one."""
        return self.region.open


class Node:
    __slots__ = ("op", "args", "outputs", "regions", "span", "grad", "extra")

    def __init__(self, op, args, outputs, regions, span, grad, extra):
        self.op = op
        self.args = args
        self.outputs = outputs
        self.regions = regions
        self.span = span
        self.grad = grad
        self.extra = extra


class Region:
    __slots__ = ("parent", "params", "nodes", "results", "open", "depth", "scalars", "memo")

    def __init__(self, parent: Optional["Region"]):
        self.parent = parent
        self.depth = 0 if parent is None else parent.depth + 1
        self.params = []
        self.nodes = []
        self.results = []
        self.open = True
        self.scalars = {}
        self.memo = {}

    def param(self, type, name=""):
        value = Value(type, self, name)
        self.params.append(value)
        return value


class Record:
    """Where nodes go: the region that is open now."""

    def __init__(self):
        self.entry = Region(None)
        self.region = self.entry

    def emit(self, op, args, types, regions=(), span=None, grad=False, extra=None):
        outputs = [Value(type, self.region) for type in types]
        self.region.nodes.append(Node(op, list(args), outputs, list(regions), span, grad, extra))
        return outputs

    @contextmanager
    def new_region(self):
        """A region inside the present one."""
        region = Region(self.region)
        region.open = False
        with self._at(region):
            yield region

    @contextmanager
    def reopened(self, region):
        """Adds to the end of a region that was left."""
        with self._at(region):
            yield region

    @contextmanager
    def _at(self, region):
        before, was_open = self.region, region.open
        self.region, region.open = region, True
        try:
            yield
        finally:
            self.region, region.open = before, was_open


_RANDOM = (
    "rand", "rrelu", "bernoulli", "normal", "dropout", "multinomial", "poisson", "uniform", "exponential",
    "geometric", "cauchy",
)  # fmt: skip


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


def has_gradient(region):
    """Whether a gradient is taken in a region, or in a function that is called there."""
    return any(node.op == "gradient" for node in _nodes(region, set()))


def has_random(region):
    """Whether random numbers are drawn in a region, or in a function that is called there."""
    return any(
        node.op.startswith("aten.") and any(name in node.op for name in _RANDOM) for node in _nodes(region, set())
    )


def _nodes(region, seen):
    """All nodes in a region, those of the functions that are called included, once."""
    seen.add(region)
    for node in region.nodes:
        yield node
        for inner in [node.extra.region] if node.op == "call" else node.regions:
            if inner not in seen:
                yield from _nodes(inner, seen)
