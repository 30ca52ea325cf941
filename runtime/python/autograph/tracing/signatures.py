"""Keys of traces: the types and shapes of tensors, the values of numbers, and the identity of other objects."""

import torch

from ..capture.layouts import layout
from ..errors import StagingError
from ..record.types import TensorType

#: Sizes below this one (empty tensors, broadcast dimensions) are special. A trace for an unknown size is not valid for them.
SPECIAL_SIZES = 2


def kinds(leaves, inputs=()):
    """Returns the part of a key that does not depend on shapes. `inputs` are the indexes of numbers that are inputs of the
    graph."""
    seen, found = {}, []
    for index, leaf in enumerate(leaves):
        if isinstance(leaf, torch.Tensor):
            first = seen.setdefault(id(leaf), index)
            found.append((type(leaf), leaf.dtype, leaf.dim(), leaf.device, history(leaf), layout(leaf), first))
        elif index in inputs:
            found.append((type(leaf),))
        elif isinstance(leaf, (bool, int, float, complex, str, bytes, type(None), torch.dtype, torch.device)):
            found.append((type(leaf), repr(leaf)))
        else:
            found.append((type(leaf), Identity(leaf)))
    return tuple(found)


def history(tensor):
    """Returns "leaf" or "computed" for a tensor that requires a gradient, and False for any other tensor."""
    return tensor.requires_grad and ("leaf" if tensor.is_leaf else "computed")


def shapes(leaves, unknown=None):
    """Returns the shapes of the tensors, with -1 for the dimensions in `unknown` (index of a leaf -> dimensions)."""
    if unknown is None:
        return tuple(tuple(leaf.shape) if isinstance(leaf, torch.Tensor) else None for leaf in leaves)
    found = list(shapes(leaves))
    for index, dims in unknown.items():
        found[index] = tuple(-1 if d in dims else n for d, n in enumerate(found[index]))
    return tuple(found)


def flat(key):
    """Returns the parts of a key, for a message. The first tuple of a key contains the structure, the ambient state and the
    leaves."""
    (structure, settings, *leaves), *rest = [element for element in key if isinstance(element, tuple)]
    return [structure, f"the settings of torch {settings}", *leaves, *(part for element in rest for part in element)]


class Identity:
    """An object as part of a key. It is kept alive, so that its id stays unique."""

    __slots__ = ("object",)

    def __init__(self, object):
        self.object = object

    def __eq__(self, other):
        return isinstance(other, Identity) and self.object is other.object

    def __hash__(self):
        return id(self.object)

    def __repr__(self):
        return f"a {type(self.object).__name__}"


class Family:
    """The traces of calls that differ only in the shapes of tensors. When a second shape occurs, the dimensions in which it
    differs become unknown."""

    def __init__(self):
        self.seen = []
        self.traces = []  # (unknown sizes, shapes of the first call, trace)
        self.is_fixed = False

    def unknown(self, new):
        """Returns the dimensions that become unknown for a new shape: leaf -> {dimension: group}; None for a static trace."""
        if self.is_fixed or not self.seen:
            return None
        old = self.seen[-1]
        found = {}
        for index, (one, other) in enumerate(zip(old, new)):
            differing = {d: (m, n) for d, (m, n) in enumerate(zip(one or (), other or ())) if m != n}
            if any(min(pair) < SPECIAL_SIZES for pair in differing.values()):
                return None
            if differing:
                found[index] = differing
        return found or None

    def add(self, unknown, trace):
        self.traces.append((unknown, self.seen[-1], trace))

    def relaxed(self, new):
        """Returns the traces that are valid for these shapes."""
        return [trace for unknown, first, trace in reversed(self.traces) if _fits(unknown, first, new)]


def _fits(unknown, first, new):
    groups = {}
    for index, (one, other) in enumerate(zip(first, new)):
        for d, (m, n) in enumerate(zip(one or (), other or ())):
            group = unknown.get(index, {}).get(d)
            if group is None:
                if m != n:
                    return False
            elif n < SPECIAL_SIZES or groups.setdefault(group, n) != n:
                return False
    return True


def types_of(signature):
    """Returns the types of an `input_signature`. Each element is a string such as `f32[?,3]`, or an object with a dtype and a
    shape in which None is an unknown size."""
    if isinstance(signature, str):
        raise TypeError("`input_signature` must be a list of tensor types, not a string")
    return [_type_of(entry) for entry in signature]


def _type_of(entry):
    if isinstance(entry, TensorType):
        return entry
    if isinstance(entry, str):
        try:
            return TensorType.parse(entry)
        except ValueError:
            raise ValueError(f"invalid tensor type `{entry}`; expected e.g. `f32[?,3]`") from None
    dtype, shape = getattr(entry, "dtype", None), getattr(entry, "shape", None)
    if not isinstance(dtype, torch.dtype) or shape is None:
        raise TypeError(f"invalid tensor type {entry!r}; expected a string or an object with a torch dtype and a shape")
    dims = tuple(None if n is None or n < 0 else int(n) for n in shape)
    return TensorType(dtype, dims, torch.device(getattr(entry, "device", None) or "cpu"))


def checked(name, types, leaves):
    """Checks the arguments against an `input_signature`. Returns the dimensions that it leaves unknown."""
    tensors = [(index, leaf) for index, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    if len(types) != len(tensors):
        raise StagingError(f"the signature of `{name}` has {len(types)} types, but {len(tensors)} tensors were passed")
    unknown = {}
    for (index, tensor), type in zip(tensors, types):
        fits = len(type.dims) == tensor.dim() and all(n is None or n == m for n, m in zip(type.dims, tensor.shape))
        if type.dtype != tensor.dtype or not fits:
            actual = f"{tensor.dtype} of shape {list(tensor.shape)}"
            raise StagingError(f"`{name}` got {actual}, but its signature expects {type}")
        open_dims = {d: (index, d) for d, n in enumerate(type.dims) if n is None}
        if open_dims:
            unknown[index] = open_dims
    return unknown
