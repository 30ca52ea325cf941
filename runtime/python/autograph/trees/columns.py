"""Columns: the values of one attribute of all objects of a class, as tensors with a row for each object.

| attribute | tensors |
|---|---|
| a node, or None | the index of the node among those of its class, -1 for None |
| a list or tuple of nodes | where its items start in a tensor of indexes, and how many there are |
| a number | the numbers; which rows are not None |
| a tensor; all of one shape and dtype | the stacked tensors; which rows are not None |

Each column has at least two rows, because a graph for an unknown size is not valid for the sizes 0 and 1."""

from typing import Any, NamedTuple

import torch

from . import classes

NODE, NODES, NUMBER, TENSOR, ALWAYS_NONE, REFUSED = "node", "nodes", "number", "tensor", "always None", "refused"

ROWS = 2

_DTYPES = {int: torch.int64, bool: torch.bool, float: torch.float64}


class Column(NamedTuple):
    """The type of an attribute of the objects of a class, as a graph assumes it. `kind` is the class of the nodes or numbers, the
    (dtype, shape, device, requires_grad) of the tensors, or the reason why the attribute is refused. If `is_optional`, the
    number or tensor may be None."""

    name: str
    form: str
    kind: Any = None
    is_optional: bool = False


class Missing:
    """The value of an attribute that an object does not have."""


MISSING = Missing()


def described(kind, name, values, known):
    """Returns the column for these values of an attribute. `known` is the column of earlier calls, or None."""
    kinds = set(map(type, values))
    is_optional = type(None) in kinds
    kinds.discard(type(None))
    if not kinds:
        return _unseen(kind, name, values, known)
    form, detail = _form(kind, name, kinds, values)
    if form in (NODE, NODES):
        return Column(name, form, detail)
    if known is not None and known.form == form:
        is_optional = is_optional or known.is_optional
    return Column(name, form, detail, is_optional and form != REFUSED)


def _unseen(kind, name, values, known):
    """Returns the column of an attribute that is None in all objects."""
    if known is None or known.form == ALWAYS_NONE:
        named = classes.annotated(kind, name)
        return Column(name, NODE, next(iter(named))) if len(named) == 1 else Column(name, ALWAYS_NONE)
    return known._replace(is_optional=True) if values and known.form in (NUMBER, TENSOR) else known


def _form(kind, name, kinds, values):
    if Missing in kinds:
        return REFUSED, "some objects do not have it"
    if kinds <= {torch.Tensor, torch.nn.Parameter}:
        return _of_tensors([value for value in values if value is not None])
    if kinds <= {int, float} and len(kinds) == 2 and _is_float(kind, name):
        kinds = {float}
    if len(kinds) == 1:
        (only,) = kinds
        if only in _DTYPES:
            if only is int and any(value is not None and not -(2**63) <= value < 2**63 for value in values):
                return REFUSED, "some of its integers have more than 64 bits"
            return NUMBER, only
        if classes.is_plain(only):
            return NODE, only
    if kinds <= {list, tuple}:
        return _of_lists(kind, name, values)
    return REFUSED, f"it holds {' and '.join(sorted(f'`{other.__name__}`' for other in kinds))}"


def _is_float(kind, name):
    """Returns whether an attribute is annotated as `float`, so that an integer in it stands for a float."""
    for base in kind.__mro__:
        hint = (base.__dict__.get("__annotations__") or {}).get(name)
        if hint is not None:
            text = hint if isinstance(hint, str) else getattr(hint, "__name__", str(hint))
            return "float" in text
    return False


def _of_tensors(values):
    first = values[0]
    for value in values:
        if (value.dtype, value.shape, value.device) != (first.dtype, first.shape, first.device):
            return REFUSED, f"it holds tensors of {_tensor(first)} and of {_tensor(value)}"
    if first.layout != torch.strided or first.is_nested or first.is_quantized:
        return REFUSED, "it holds tensors that are not dense"
    return TENSOR, (first.dtype, tuple(first.shape), first.device, any(value.requires_grad for value in values))


def _tensor(value):
    return f"{str(value.dtype).removeprefix('torch.')} with shape {list(value.shape)}"


def _of_lists(kind, name, values):
    if None in values:
        return REFUSED, "it holds lists and None"
    if len(set(map(type, values))) > 1:
        return REFUSED, "it holds lists and tuples"
    kinds = {type(item) for value in values for item in value}
    if not kinds:
        named = classes.annotated(kind, name) or {kind}
        return (NODES, next(iter(named))) if len(named) == 1 else (REFUSED, "its lists are empty")
    if len(kinds) == 1 and classes.is_plain(next(iter(kinds))):
        return NODES, next(iter(kinds))
    return REFUSED, "it holds lists of other things than nodes of one class"


def tensors(column, values, rows):
    """Returns the tensors of a column. `rows` is a dictionary from the id of each node to its index."""
    missing = max(ROWS - len(values), 0)
    if column.form == NODE:
        return [_integers([-1 if value is None else rows[id(value)] for value in values] + [-1] * missing)]
    if column.form == NODES:
        items = [rows[id(item)] for value in values for item in value or ()]
        counts = [len(value or ()) for value in values]
        starts, total = [], 0
        for count in counts:
            starts.append(total)
            total += count
        pads = [0] * missing
        return [_integers(starts + pads), _integers(counts + pads), _integers(items + [-1] * max(ROWS - len(items), 0))]
    if column.form not in (NUMBER, TENSOR):
        return []
    flags = []
    if column.is_optional:
        flags = [torch.tensor([value is not None for value in values] + [False] * missing, device="cpu")]
    if column.form == NUMBER:
        numbers = [0 if value is None else value for value in values] + [0] * missing
        return [torch.tensor(numbers, dtype=_DTYPES[column.kind], device="cpu"), *flags]
    dtype, shape, device, requires_grad = column.kind
    empty = torch.zeros(shape, dtype=dtype, device=device) if missing or column.is_optional else None
    stacked = torch.stack([empty if value is None else value for value in values] + [empty] * missing)
    if requires_grad and not stacked.requires_grad and torch.is_grad_enabled():  # all are None in this call
        stacked = stacked.requires_grad_().clone()  # not a leaf: in other calls, tensors of nodes are stacked
    return [stacked, *flags]


def _integers(numbers):
    return torch.tensor(numbers, dtype=torch.int64, device="cpu")


def parts(column):
    """Returns the names of the tensors of a column."""
    name = column.name
    if column.form == NODES:
        return [f"{name}.start", f"{name}.length", f"{name}.items"]
    if column.form == NODE:
        return [name]
    if column.form in (NUMBER, TENSOR):
        return [name, *([f"{name} is not None"] if column.is_optional else [])]
    return []
