"""The list operators of converted code."""

import torch

from ..capture import scalars
from ..capture.places import ClosureVariable, Global
from ..capture.rows import MaybeNone
from ..capture.staging import current, is_staged
from ..conversion import spans
from ..errors import StagingError
from ..record.types import BOOL
from . import specs
from .values import List


class ListPopOpts:
    def __init__(self, element_dtype, element_shape):
        self.element_dtype = element_dtype
        self.element_shape = element_shape


class ListStackOpts:
    def __init__(self, element_dtype, original_call):
        self.element_dtype = element_dtype
        self.original_call = original_call


class GetItemOpts:
    def __init__(self, element_dtype):
        self.element_dtype = element_dtype


def new_list(iterable=None):
    """Implements a list display: `[a, b]`."""
    items = list(iterable) if iterable else []
    return items if current() is None else List(items)


def _needs_copy(target):
    """Returns whether a write must first copy a list of another scope into a `List`, because only a `List` can grow in a
    region. All other lists are changed in place: objects that are reachable from outside the region are watched, so that the
    change is undone."""
    staging = current()
    if staging is None or staging.depth == 0 or type(target) is not list:
        return False
    return staging.objects.watches(target) and _has_one_name(staging, target)


def _has_one_name(staging, target):
    """Returns whether a list from outside has only one name and no other holder, so that a copy can replace it."""
    holders = staging.objects.holders(target)
    if holders is None or len(holders) != 1:
        return False
    name = holders[0].name if isinstance(holders[0], (ClosureVariable, Global)) else None
    return all(held == name for held in spans.names_of(target))


def _is_shared(staging, target):
    """Returns whether a list has other names or holders, so that a copy cannot replace it."""
    if staging.objects.holders(target) == []:
        return len(set(spans.names_of(target))) > 1
    return not _has_one_name(staging, target)


def list_append(list_, x):
    if _needs_copy(list_):
        list_ = List(list_)
    list_.append(x)
    return list_


def list_pop(list_, i, opts):
    if _needs_copy(list_):
        list_ = List(list_)
    return list_, list_.pop() if i is None else list_.pop(i)


def list_stack(list_, opts):
    return opts.original_call(list_)


def get_item(target, i, opts):
    if isinstance(i, MaybeNone):
        i = i._ag_resolved()
    if is_staged(i) and type(target) in (list, tuple):
        return List(target).at(i)
    if is_staged(i) and type(target) is range:
        return target.start + i * target.step
    return target[_index(target, i)]


def set_item(target, i, x):
    if type(target) is list and is_staged(i):
        if _is_shared(current(), target):
            message = "cannot assign to a staged index of a list that another object also holds"
            raise StagingError(f"{message}\nhelp: create the list in the function", spans.current())
        target = List(target)
    elif _needs_copy(target):
        target = List(target)
    target[_index(target, i)] = x
    return target


def _index(target, index):
    return positions(index) if isinstance(target, torch.Tensor) and isinstance(index, list) else index


def positions(index):
    """Returns an index of a tensor with a tensor in place of a list of the graph, or of a list with staged numbers."""
    if not isinstance(index, List) or index.value is None:
        return torch.tensor(index) if index and all(map(scalars.kind_of, index)) and any(map(is_staged, index)) else index
    kind = specs.number_kind(index.spec.element)
    if kind is None:
        message = "a list of unknown length cannot be an index"
        raise StagingError(f"{message}\nhelp: make one tensor of it: `x[torch.stack(items)]`", spans.current())
    return torch.tensor(index, dtype=torch.bool if kind == BOOL else torch.int64)
