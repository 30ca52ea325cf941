"""`a is b` and `a is not b`, which are staged for nodes of trees (`node.left is None`) and for booleans."""

from ..capture import scalars
from ..capture.rows import StandIn
from ..capture.staging import current, is_staged
from ..record.types import BOOL
from .if_exp import not_
from .sharing import check_comparison


def is_(a, b):
    if isinstance(a, StandIn):
        return a._ag_is(b)
    return b._ag_is(a) if isinstance(b, StandIn) else _is_same(a, b)


def is_not(a, b):
    found = is_(a, b)
    return not found if isinstance(found, bool) else not_(found)


def _is_same(a, b):
    if (is_staged(a) or is_staged(b)) and scalars.kind_of(a) == scalars.kind_of(b) == BOOL:
        return a == b  # `(n > 1) is True`
    if a is not b and a is not None and b is not None and current() is not None:
        check_comparison(a, b)
    return a is b
