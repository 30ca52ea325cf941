"""Specs: the types of variables in staged code. They must be the same in all branches and iterations.

A variable is a tensor, a staged number, a constant Python value, a list of unknown length, or a structure of these.
Specs form a lattice; `merge` is its join. `values` converts between values and the operands of a spec.
"""

from typing import Any, NamedTuple

import torch

from ..capture import scalars
from ..capture.staging import current
from ..capture.unbound import Undefined, UndefinedReturnValue
from ..conversion import spans
from ..errors import RunInPython, StagingError
from ..record.ops import LIST_NEW, of_torch
from ..record.types import BOOL, DTYPES, FLOAT, INT, ListType, TensorType, TupleType, Type

_FULL = of_torch(torch.ops.aten.full.default)


class Mismatch(Exception):
    """Two specs without a join; the message describes them."""


class Tensor(NamedTuple):
    type: TensorType

    @property
    def types(self):
        return [self.type]

    def __str__(self):
        return f"a tensor of {str(self.type.dtype).removeprefix('torch.')} and shape {shape(self.type)}"


class Number(NamedTuple):
    kind: Type

    @property
    def types(self):
        return [self.kind]

    def __str__(self):
        return f"a staged {self.kind}"


class Constant(NamedTuple):
    """A Python object that is the same on all paths."""

    value: Any
    types = ()

    def __eq__(self, other):
        return isinstance(other, Constant) and same(self.value, other.value)

    def __ne__(self, other):
        return not self == other

    __hash__ = None

    def __str__(self):
        if isinstance(self.value, (dict, list, tuple, set)):
            return f"a {type(self.value).__name__}"
        return str.__repr__(self.value) if isinstance(self.value, str) else repr(self.value)


class Growing(NamedTuple):
    """A list of the graph. `element` is the spec of its elements; None while the list is empty."""

    element: Any

    @property
    def types(self):
        return [ListType(None if self.element is None else self.element.types[0])]

    def __str__(self):
        return "a list" if self.element is None else f"a list of {self.element}"


class Tree(NamedTuple):
    """A tuple, list or dictionary of known length."""

    kind: Any
    keys: Any
    children: tuple

    @property
    def types(self):
        return [type for child in self.children for type in child.types]

    def __str__(self):
        return f"a {self.kind.__name__} of {len(self.children)}"


class Row(NamedTuple):
    """A node of a tree among the arguments, or None: a row of the columns of its class."""

    kind: Any
    types = (INT,)

    def __eq__(self, other):
        return isinstance(other, Row) and self.kind is other.kind

    def __ne__(self, other):
        return not self == other

    __hash__ = None

    def __str__(self):
        return f"a `{self.kind.__name__}` of the arguments"


def holds_rows(spec):
    """Returns whether a list, tuple or dictionary holds nodes."""
    if isinstance(spec, Tree):
        return any(map(holds_rows, spec.children))
    inner = {Growing: "element", Packed: "tree", Optional: "inner"}.get(type(spec))
    return isinstance(spec, Row) if inner is None else holds_rows(getattr(spec, inner))


class Packed(NamedTuple):
    """The spec of a structure that is an element of a list. In the graph, the element is a tuple."""

    tree: Tree

    @property
    def types(self):
        return [TupleType(tuple(self.tree.types))]

    def __str__(self):
        return str(self.tree)


class Optional(NamedTuple):
    """A variable that is bound on some paths only."""

    inner: Any
    absent: Any

    @property
    def types(self):
        return [BOOL, *self.inner.types]

    def __eq__(self, other):
        return isinstance(other, Optional) and self.inner == other.inner

    def __ne__(self, other):
        return not self == other

    __hash__ = None

    def __str__(self):
        return f"{self.inner}, or nothing"


def shape(type):
    return "[" + ", ".join("?" if n is None else str(n) for n in type.dims) + "]"


def same(a, b):
    """Returns whether two Python values are indistinguishable for the program."""
    if a is b:
        return True
    if type(a) is not type(b) or not isinstance(a, (bool, int, float, complex, str, bytes, type(None), torch.dtype)):
        return isinstance(a, (Undefined, UndefinedReturnValue)) and type(a) is type(b)
    if isinstance(a, str):
        return str.__eq__(a, b)  # strings with equal placeholders (`texts.py`) contain the same values of the graph
    return a == b and repr(a) == repr(b)


def is_absent(value):
    return isinstance(value, (Undefined, UndefinedReturnValue))


def merge(a, b):
    """Returns the join of two specs: the narrowest spec for the values of both."""
    if a == b:
        return a
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Constant) and isinstance(one.value, UndefinedReturnValue) and other == Constant(None):
            return other
    if isinstance(a, Constant) and is_absent(a.value):
        return b if isinstance(b, Optional) else Optional(staged(b), a.value)
    if isinstance(b, Constant) and is_absent(b.value):
        return a if isinstance(a, Optional) else Optional(staged(a), b.value)
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Row) and other == Constant(None):
            return one
    if isinstance(a, Optional) or isinstance(b, Optional):
        absent = a.absent if isinstance(a, Optional) else b.absent
        inner = merge(_inner(a), _inner(b))
        return Optional(inner, absent)
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return Tensor(_merge_tensors(a.type, b.type))
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Tensor) and number_kind(other):
            return Tensor(_with_number(one.type, other))
    kinds = {number_kind(a), number_kind(b)}
    if None not in kinds:
        return Number(FLOAT if FLOAT in kinds else INT if INT in kinds else BOOL)
    if isinstance(a, Growing) and isinstance(b, Growing):
        return Growing(element_of([a.element, b.element]))
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Growing) and isinstance(other, Tree) and other.kind is list:
            return Growing(element_of([one.element, *other.children]))
    if isinstance(a, Tree) and isinstance(b, Tree) and a.kind is b.kind:
        if a.keys == b.keys and len(a.children) == len(b.children):
            return Tree(a.kind, a.keys, tuple(map(merge, a.children, b.children)))
        if a.kind is list:
            return Growing(element_of([*a.children, *b.children]))
    raise Mismatch(f"{a} and {b}")


def _inner(spec):
    return spec.inner if isinstance(spec, Optional) else spec


def promotes(a, b):
    """Returns whether two specs have tensors of different dtypes, so that the join converts one of them."""
    if isinstance(a, Tree) and isinstance(b, Tree):
        return any(map(promotes, a.children, b.children))
    return isinstance(a, Tensor) and isinstance(b, Tensor) and a.type.dtype != b.type.dtype


def changes_number(a, b):
    """Returns whether two specs have numbers of different kinds, so that the join converts one of them."""
    return _differ(number_kind, a, b)


def changes_kind(a, b):
    """Returns whether two specs have numbers of different kinds, or a number and a tensor, so that the join converts one of
    them."""
    return _differ(lambda spec: Tensor if isinstance(spec, Tensor) else number_kind(spec), a, b)


def _differ(kind, a, b):
    """Returns whether two specs have parts of different kinds at one position."""
    if isinstance(a, Tree) and isinstance(b, Tree):
        return any(_differ(kind, one, other) for one, other in zip(a.children, b.children))
    kinds = kind(a), kind(b)
    return None not in kinds and kinds[0] != kinds[1]


def number_kind(spec):
    """Returns the type of a number; None for anything else. A constant of another class, such as a member of an `IntEnum`,
    is an object: a number of the graph would not have its class."""
    if isinstance(spec, Number):
        return spec.kind
    if not isinstance(spec, Constant) or type(spec.value).__module__ not in ("builtins", "torch", "numpy"):
        return None
    return scalars.kind_of(spec.value)


def staged(spec):
    """Returns the spec with staged numbers in place of constant ones."""
    if isinstance(spec, Tree):
        return Tree(spec.kind, spec.keys, tuple(map(staged, spec.children)))
    kind = number_kind(spec)
    return Number(kind) if kind else spec


def element_of(items):
    """Returns the element spec of a list with these items; None without items."""
    merged = None
    for spec in items:
        if spec is not None:
            spec = staged(spec.tree if isinstance(spec, Packed) else spec)
            if merged is not None and _mixes(merged, spec):
                raise Mismatch("numbers and tensors in one list")
            merged = spec if merged is None else merge(merged, spec)
    if isinstance(merged, Tree) and merged.types and not _has_objects(merged):
        return Packed(merged)
    if merged is not None and not isinstance(merged, (Tensor, Number, Growing, Row)):
        raise Mismatch(f"a list of {merged}, which cannot be staged")
    return merged


def _mixes(a, b):
    """Returns whether two specs have a number and a tensor at the same position."""
    if isinstance(a, Tree) and isinstance(b, Tree):
        return any(map(_mixes, a.children, b.children))
    return {type(a), type(b)} == {Tensor, Number}


def _has_objects(spec):
    if isinstance(spec, Tree):
        return any(map(_has_objects, spec.children))
    return isinstance(spec, (Constant, Optional))


def _merge_tensors(a, b):
    if a.device != b.device:
        raise Mismatch(f"tensors on {a.device} and {b.device}")
    if len(a.dims) != len(b.dims):
        raise Mismatch(f"tensors of {_dtype(a)} with shape {shape(a)} and of {_dtype(b)} with shape {shape(b)}")
    if a.dtype != b.dtype:
        _check_promotion(current(), f"tensors of {_dtype(a)} and of {_dtype(b)}")
    dims = tuple(m if m == n else None for m, n in zip(a.dims, b.dims))
    return TensorType(torch.promote_types(a.dtype, b.dtype), dims, a.device)


def _check_promotion(staging, kinds):
    """If Python can run the call instead, refuses a join that would change the dtype of a tensor."""
    if staging.has_fallback:
        raise Mismatch(kinds)
    if staging.speculates:
        raise RunInPython(StagingError(f"a variable has {kinds} on different paths", spans.current()), lasts=True)


def _dtype(type):
    return DTYPES[type.dtype]


def _with_number(type, number):
    if any(n is None for n in type.dims):
        raise Mismatch(f"a number and a tensor of shape {shape(type)}")
    example = {INT: 1, FLOAT: 1.0, BOOL: True}[number_kind(number)]
    # With one dimension the dtype of the tensor takes precedence over the number, as in an expression.
    dtype = torch.result_type(torch.empty((1,), dtype=type.dtype, device="meta"), example)
    return TensorType(dtype, type.dims, type.device)


def placeholder(staging, type):
    """Returns an operand for a variable that is not bound yet. The graph does not read it."""
    if isinstance(type, TensorType):
        args = [[n or 0 for n in type.dims], 0, type.dtype, None, type.device, None]
        return staging.emit(_FULL, args, [type])[0]
    if isinstance(type, ListType):
        return staging.emit(LIST_NEW, [], [type])[0]
    return _DEFAULTS[type]


_DEFAULTS = {INT: 0, FLOAT: 0.0, BOOL: False}


def unused(type):
    """Returns an operand for a result of a branch that always raises an exception."""
    return _DEFAULTS.get(type)


def or_placeholder(staging, operand, type):
    """Returns the operand, or a placeholder if it is None. A list can be None in the graph; a number and a tensor cannot."""
    if operand is not None or isinstance(type, ListType):
        return operand
    return placeholder(staging, type)


def returned(spec):
    """Returns the spec of a returned value: `return None` is the same as no return value."""
    return Constant(UndefinedReturnValue()) if spec == Constant(None) else spec


class Unstable(StagingError):
    """The type of a loop variable is different after an iteration. Peeling the first iteration may help."""


def _is_unbound(spec):
    return isinstance(spec, Constant) and isinstance(spec.value, Undefined)


def checked_merge(name, a, b, where, error=StagingError):
    """Calls `merge`. If there is no join, raises an error that names the variable."""
    if name.endswith("]") and _is_unbound(a) != _is_unbound(b):
        message = f"`{name}` is assigned on some paths only, so whether the dictionary has this key is not known while tracing"
        raise StagingError(f"{message}\nhelp: assign it before", spans.current())
    try:
        return merge(*map(returned, (a, b))) if name.startswith("retval_") and a != b else merge(a, b)
    except Mismatch as mismatch:
        help = "give it values of one kind on all paths"
        if Constant(None) in (a, b):
            help = "in place of None, use a value of the same kind, and a boolean that tells whether it is set"
        raise error(f"`{name}` is of different kinds {where}: {mismatch}\nhelp: {help}", spans.current()) from None
