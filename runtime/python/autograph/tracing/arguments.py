"""Flattens the arguments of a call to leaves (tensors, numbers and objects) and their structure."""

import inspect

import torch
from torch.utils import _pytree as pytree

_PLAIN = (torch.Tensor, int, float, str, type(None))


def flatten_plain(args, kwargs):
    """Returns the leaves and their structure, if all arguments are positional tensors and numbers; otherwise None."""
    if not kwargs and all(isinstance(arg, _PLAIN) for arg in args):
        return list(args), len(args)
    return None


def flatten(args, kwargs):
    """Returns the leaves and their structure. There is a fast path for positional tensors and numbers."""
    return flatten_plain(args, kwargs) or pytree.tree_flatten((args, kwargs))


def unflatten(leaves, structure):
    """Returns the inverse of `flatten`: (args, kwargs)."""
    if isinstance(structure, int):
        return tuple(leaves), {}
    return pytree.tree_unflatten(leaves, structure)


def names(function, args, kwargs):
    """Returns the name of each leaf: its parameter and its path in the argument, such as `inputs['x'][0]`."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    found = []
    for path, _ in pytree.tree_flatten_with_path((args, kwargs))[0]:
        which, first, *rest = path
        if which.idx == 1:
            name = first.key
        else:
            name = _positional(parameters, first.idx)
        found.append(name + pytree.keystr(tuple(rest)))
    return found


def _positional(parameters, index):
    for position, parameter in enumerate(parameters):
        if parameter.kind is parameter.VAR_POSITIONAL:
            return f"{parameter.name}[{index - position}]"
        if position == index:
            return parameter.name
    return f"[{index}]"
