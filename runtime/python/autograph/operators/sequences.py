"""Python's built-in functions that make sequences: `sorted`, `map`, `filter`, `list`."""

import torch
from torch.utils import _pytree as pytree

from ..capture import contents
from ..capture.staging import current, is_staged_tensor
from ..conversion import spans
from ..errors import NeedsPython, StagingError
from . import ranges
from .calls import call
from .for_stmt import for_stmt
from .if_exp import either
from .overloads import OVERLOADS
from .values import List


def next_(iterator, /, *default):
    """If the position of an iterator from outside cannot be restored after the trace, as that of `itertools.count()`, Python
    runs the call."""
    staging = current()
    if staging is not None and id(iterator) in staging.outside and contents.cannot_go_back(iterator):
        message = f"the trace cannot restore {contents.kind_of(type(iterator)).describe(iterator)} from outside the function"
        raise NeedsPython(f"{message}\nhelp: take the value outside and pass it as an argument", spans.current())
    return next(iterator, *default)


def sorted_(values, /, *, key=None, reverse=False):
    """Sorts rows of a tensor, or items with equal structures of tensors, by 0-d tensors. The order of other items, such as
    objects of the user, is decided for the arguments of the call."""
    if isinstance(values, List) and not values.holds_tensors():
        values = values.plain()
    in_graph = is_staged_tensor(values) or isinstance(values, List) and values.value is not None
    values = values if in_graph else list(values)
    keys = values if key is None else list_(map_(key, values))
    if not in_graph and not (any(map(is_staged_tensor, keys)) and all(map(_is_of_tensors, values))):
        return list_(values[index] for index in sorted(range(len(values)), key=keys.__getitem__, reverse=reverse))
    order = _stacked(keys)
    if order.dim() != 1:
        raise StagingError("`sorted` needs 0-d tensors as keys", spans.current())
    order = order.argsort(descending=bool(reverse), stable=True)
    if in_graph:
        return list_(_stacked(values)[order])
    leaves, structures = zip(*map(pytree.tree_flatten, values))
    if any(structure != structures[0] for structure in structures):
        raise StagingError("`sorted` needs values with equal structures", spans.current())
    rows = zip(*(torch.stack(column)[order] for column in zip(*leaves)))
    return list_(pytree.tree_unflatten(row, structures[0]) for row in rows)


def _is_of_tensors(value):
    return all(isinstance(leaf, torch.Tensor) for leaf in pytree.tree_leaves(value))


def _stacked(values):
    return values if isinstance(values, torch.Tensor) else torch.stack(values)


def map_(function, *values):
    if not any(map(ranges.is_staged_iterable, values)):
        return (call(function, row, {}) for row in zip(*values)) if current() is not None else map(function, *values)
    staged = ranges.Zip([ranges.iterable(v) or ranges.Items(v) for v in values])
    return collected(staged, lambda result, row: result.append(call(function, row, {})))


def filter_(function, values):
    if not ranges.is_staged_iterable(values):
        return filter(function, values) if current() is None else _filtered(function, values)

    def keep(result, row):
        is_kept = row[0] if function is None else call(function, row, {})
        either(is_kept, lambda: result.append(row[0]), lambda: None, "`filter`")

    return collected(ranges.Zip([ranges.iterable(values)]), keep)


def _filtered(function, values):
    for value in values:
        if value if function is None else call(function, (value,), {}):
            yield value


def collected(values, add):
    """Returns the list that a loop builds; `add` appends to it for each row."""
    result = List()
    for_stmt(values, None, lambda row: add(result, row), tuple, lambda state: None, (), {})
    return result


def list_(*args):
    if args and isinstance(args[0], List):
        return args[0].copy()
    if len(args) == 1 and is_staged_tensor(args[0]) and type(args[0].shape[0]) is not int:
        return collected(ranges.Rows(args[0]), lambda result, row: result.append(row))
    return List(*args) if current() is not None else list(*args)


OVERLOADS.update({sorted: sorted_, map: map_, filter: filter_, list: list_, next: next_})
