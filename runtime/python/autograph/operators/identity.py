"""`a is b` and `a is not b`, which are staged for nodes of trees: `node.left is None`."""

from ..capture.rows import StandIn
from .if_exp import not_


def is_(a, b):
    if isinstance(a, StandIn):
        return a._ag_is(b)
    return b._ag_is(a) if isinstance(b, StandIn) else a is b


def is_not(a, b):
    return not_(is_(a, b)) if isinstance(a, StandIn) or isinstance(b, StandIn) else a is not b
