"""The list operators of converted code."""

from ..capture.staging import current, is_staged
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
    """A list display: `[a, b]`."""
    items = list(iterable) if iterable else []
    return items if current() is None else List(items)


def _needs_copy(target):
    """Whether a write must copy a list or dictionary: inside a region it may be traced again, and other branches must
    not see the write."""
    staging = current()
    if staging is None or staging.depth == 0 or id(target) in staging.objects.arguments:
        return False
    return type(target) in (list, dict)


def list_append(list_, x):
    if _needs_copy(list_):
        list_ = List(list_)
    list_.append(x)
    return list_


def list_pop(list_, i, opts):
    if _needs_copy(list_) and type(list_) is list:
        list_ = List(list_)
    return list_, list_.pop() if i is None else list_.pop(i)


def list_stack(list_, opts):
    return opts.original_call(list_)


def get_item(target, i, opts):
    if is_staged(i) and type(target) in (list, tuple):
        return List(target).at(i)
    if is_staged(i) and type(target) is range:
        return target.start + i * target.step
    return target[i]


def set_item(target, i, x):
    if type(target) is list and is_staged(i):
        target = List(target)
    elif _needs_copy(target):
        target = List(target) if type(target) is list else dict(target)
    target[i] = x
    return target
