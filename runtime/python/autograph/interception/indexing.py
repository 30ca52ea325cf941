"""`x[i]` and `x[:, i:j] = v` where an index is a staged number: one view operation for each index."""

import torch

from ..capture import scalars
from ..capture.staging import current
from ..record.ops import ADD, GE, LT
from ..record.types import INT

_SELECT, _SLICE = torch.ops.aten.select.int, torch.ops.aten.slice.Tensor


def is_staged_index(index):
    parts = index if isinstance(index, tuple) else (index,)
    return any(
        scalars.is_staged(part)
        or isinstance(part, slice)
        and any(map(scalars.is_staged, (part.start, part.stop, part.step)))
        for part in parts
    )


def get(tensor, index):
    view, rest = _basic_view(tensor, index)
    return view if rest is None else view[rest]


def set(tensor, index, value):
    view, rest = _basic_view(tensor, index)
    if rest is not None:
        view[rest] = value
    elif isinstance(value, torch.Tensor):
        while value.dim() > view.dim() and value.shape[0] == 1:
            value = value.squeeze(0)
        view.copy_(value)
    else:
        view.fill_(value)


def _basic_view(tensor, index):
    """Returns the view that the numbers, slices, `None` and `...` of an index select, and the remaining advanced index."""
    parts = list(index) if isinstance(index, tuple) else [index]
    if not any(part is Ellipsis for part in parts):
        parts.append(Ellipsis)
    rest, advanced, dim = [], False, 0
    for part in parts:
        if part is None:
            tensor = tensor.unsqueeze(dim)
        elif part is Ellipsis:
            skipped = tensor.dim() - dim - sum(1 for p in parts[parts.index(Ellipsis) + 1 :] if p is not None)
            rest.extend([slice(None)] * max(skipped, 0))
            dim += max(skipped, 0)
            continue
        elif scalars.kind_of(part) == INT:
            tensor = _SELECT(tensor, dim, part)
            continue
        elif isinstance(part, slice):
            if part != slice(None):
                tensor = _sliced(tensor, dim, part)
        else:
            rest.append(part)
            advanced = True
            dim += 1
            continue
        rest.append(slice(None))
        dim += 1
    return tensor, tuple(rest) if advanced else None


def _sliced(tensor, dim, part):
    step = 1 if part.step is None else part.step
    if step == 1 and _has_one_element(tensor, dim, part):
        return _SELECT(tensor, dim, part.start).unsqueeze(dim)
    return _SLICE(tensor, dim, part.start, part.stop, step)


def _has_one_element(tensor, dim, part):
    """Returns whether this is `x[i : i + 1]` of a dimension of known size, which is assumed to contain `i`. Then the size of
    the result is known. The graph checks the assumption."""
    staging, size = current(), tensor.shape[dim]
    if staging is None or type(size) is not int or not all(map(scalars.is_staged, (part.start, part.stop))):
        return False
    start, stop = (scalars.lower(staging, bound) for bound in (part.start, part.stop))
    node = getattr(stop, "node", None)
    if node is None or node.op != ADD or list(node.args) not in ([start, 1], [1, start]):
        return False
    message = "an element of `x[i:i + 1]` exists"
    if staging.is_refuted(message):
        return False
    memo, key = staging.record.region.memo, ("one element", start, size)
    if key not in memo:
        flag = staging.both(scalars.apply(staging, GE, part.start, 0), scalars.apply(staging, LT, part.start, size))
        staging.assume(scalars.lower(staging, flag), message)
        memo[key] = True
    return True
