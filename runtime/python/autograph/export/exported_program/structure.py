"""How a program of torch.export represents the values of a graph, and which tensors they contain:

    tensor           a tensor
    number           a Python number or a `torch.SymInt`, if it depends on sizes only; otherwise a tensor without dimensions
    list             a Python list, `Stacked`, or `Bounded` in a loop that appends to it
    tuple            a tuple
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree


@dataclass
class Stacked:
    """A list whose elements are numbers, or tensors of one shape: they are the rows of a tensor."""

    rows: Any


@dataclass
class Bounded:
    """A list whose elements are the first `length` rows of a tensor. `length` is a tensor without dimensions."""

    rows: Any
    length: Any


pytree.register_pytree_node(Bounded, lambda list: ([list.rows, list.length], None), lambda parts, _: Bounded(*parts))
pytree.register_pytree_node(Stacked, lambda list: ([list.rows], None), lambda rows, _: Stacked(rows[0]))

_PART = object()


def split(value):
    """Returns the tensors and symbolic sizes in a value, and its structure with everything else."""
    leaves, tree = pytree.tree_flatten(value)
    parts = [leaf for leaf in leaves if _is_part(leaf)]
    return parts, (tree, tuple(_PART if _is_part(leaf) else (type(leaf), leaf) for leaf in leaves))


def join(parts, structure):
    """The inverse of `split`."""
    tree, leaves = structure
    parts = iter(parts)
    return pytree.tree_unflatten([next(parts) if leaf is _PART else leaf[1] for leaf in leaves], tree)


def part_count(structure):
    """Returns the number of tensors and sizes in values with this structure."""
    return sum(leaf is _PART for leaf in structure[1])


def _is_part(leaf):
    return isinstance(leaf, (torch.Tensor, torch.SymInt))
