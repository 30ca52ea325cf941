"""Trees among the arguments of a trace: their stand-ins, and errors for changes that a run could not apply to the objects."""

from torch.utils import _pytree as pytree

from ..capture.rows import MaybeNone, refuse
from ..operators.nodes import Trees
from ..record.queries import has_gradient
from ..trees.encoding import EncodedRoot


def stand_ins(staging, arguments):
    """Returns the arguments with a stand-in in place of each root."""
    leaves = pytree.tree_leaves(arguments, is_leaf=_is_root)
    first = next((leaf for leaf in leaves if _is_root(leaf)), None)
    if first is None:
        return arguments
    staging.trees = trees = Trees(staging, first)
    return pytree.tree_map(lambda leaf: trees.stand_in(leaf) if _is_root(leaf) else leaf, arguments, is_leaf=_is_root)


def _is_root(value):
    return isinstance(value, EncodedRoot)


def returned(staging, result):
    """Returns the result of a trace, with a `Maybe` in place of each number or tensor of a node that may be None."""
    if staging.trees is None:
        return result
    return pytree.tree_map(lambda leaf: leaf._ag_maybe() if isinstance(leaf, MaybeNone) else leaf, result)


def check(staging, trace, span):
    """Refuses a trace that changes tensors of nodes, or gives them gradients: a run would change the columns instead."""
    if staging.trees is None:
        return
    columns = {id(fake) for fake in staging.trees.fakes}
    kinds = staging.trees.columns.keys()
    captures = {id(capture): capture for capture in staging.captures.values() if id(capture.fake) in columns}
    if any(id(capture) in captures for capture in trace.writes):
        refuse(kinds, "a tensor of a node is changed in place", span)
    if any(id(capture) in captures for capture in [*trace.gradients, *(capture for capture, _ in trace.flags)]):
        refuse(kinds, "a tensor of a node gets a gradient or another `requires_grad`", span)
    if has_gradient(staging.record.entry) and any(c.tensor is not None and c.tensor.requires_grad for c in captures.values()):
        refuse(kinds, "a gradient is computed in the function, and tensors of nodes require a gradient", span)
