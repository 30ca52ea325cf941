"""The operations of nodes. Each operation is an object that is created when its module is imported, so a wrong name is an
error at import. The operation for an operator of torch is created from the operator's schema.

The classes of this module are operations with a parameter that is a Python object or known only when the graph is built.
"""

from typing import Any, NamedTuple

from .._runtime import Op

# Tensors.
ITEM, SIZE, OVERWRITTEN = map(Op.named, ("item", "size", "overwritten"))

# Control flow and effects.
IF, WHILE, FOR, PRINT, ASSERT = map(Op.named, ("if", "while", "for", "print", "assert"))

# Lists and tuples.
LIST_NEW, LIST_FILLED, LIST_CONCAT = map(Op.named, ("list.new", "list.filled", "list.concat"))
LIST_GET, LIST_SLICE, LIST_LEN = map(Op.named, ("list.get", "list.slice", "list.len"))
LIST_APPEND, LIST_INSERT, LIST_SET, LIST_POP = map(Op.named, ("list.append", "list.insert", "list.set", "list.pop"))
TUPLE_NEW = Op.named("tuple.new")

# Numbers.
ADD, SUB, MUL, MOD, POW = map(Op.named, ("scalar.add", "scalar.sub", "scalar.mul", "scalar.mod", "scalar.pow"))
FLOORDIV, TRUEDIV, MIN, MAX = map(Op.named, ("scalar.floordiv", "scalar.truediv", "scalar.min", "scalar.max"))
NEG, ABS, ROUND, FLOOR, CEIL = map(
    Op.named, ("scalar.neg", "scalar.abs", "scalar.round", "scalar.floor", "scalar.ceil")
)
EQ, NE, LT, LE, GT, GE = map(Op.named, ("scalar.eq", "scalar.ne", "scalar.lt", "scalar.le", "scalar.gt", "scalar.ge"))
AND, OR, NOT, SELECT = map(Op.named, ("scalar.and", "scalar.or", "scalar.not", "scalar.select"))
TO_INT, TO_FLOAT, TO_BOOL = map(Op.named, ("scalar.int", "scalar.float", "scalar.bool"))
SQRT, EXP, LOG, SIN, COS, TANH = map(
    Op.named, ("scalar.sqrt", "scalar.exp", "scalar.log", "scalar.sin", "scalar.cos", "scalar.tanh")
)

tuple_get = Op.tuple_get


class Call(NamedTuple):
    """Calls a function of the graph."""

    function: Any


class Raise(NamedTuple):
    """Raises an exception. `kind` is its class, or a callable that creates it."""

    kind: Any


class Callback(NamedTuple):
    """Calls the Python function with this index. If `is_pure`, the results depend on the operands only, and the call
    has no effects. If `collective` is `"start"`, it starts a collective, and may be moved to an earlier position; if it is
    `"wait"`, it waits for one, and may be moved to a later position."""

    number: int
    prints: bool = False
    is_pure: bool = False
    collective: str | None = None


class Gradient(NamedTuple):
    """`torch.autograd.grad`. The operands are the outputs, their gradients, and the inputs. If a
    `backward` computes the gradient, `leaves` contains for each input the number of the `backward`, and the id of the tensor
    from outside that is this input (or None). Otherwise `leaves` is empty."""

    create_graph: bool
    allow_unused: bool
    leaves: tuple = ()


_OF_TORCH = {}  # OpOverload -> Op


def of_torch(operator):
    """Returns the operation that calls an operator of torch, such as `torch.ops.aten.add.Tensor`."""
    op = _OF_TORCH.get(operator)
    if op is None:
        op = _OF_TORCH[operator] = Op.of_torch(operator)
    return op


def operator_of(op):
    """Returns the operator of torch that an operation calls; None for other operations."""
    return op.overload if isinstance(op, Op) else None


def is_aten(op):
    """Returns whether an operation calls an operator of ATen."""
    operator = operator_of(op)
    return operator is not None and operator.namespace == "aten"
