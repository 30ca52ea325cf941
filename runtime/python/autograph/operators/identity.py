"""`a is b` and `a is not b`, which are staged for nodes of trees: `node.left is None`."""

from ..capture.rows import StandIn
from ..capture.staging import current
from .if_exp import not_
from .sharing import check_comparison


def is_(a, b):
    if isinstance(a, StandIn):
        return a._ag_is(b)
    return b._ag_is(a) if isinstance(b, StandIn) else _is_same(a, b)


def is_not(a, b):
    return not_(is_(a, b)) if isinstance(a, StandIn) or isinstance(b, StandIn) else not _is_same(a, b)


def _is_same(a, b):
    if a is not b and a is not None and b is not None and current() is not None:
        check_comparison(a, b)
    return a is b
