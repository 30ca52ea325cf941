"""Stand-ins for the objects of trees among the arguments, which are rows of columns (`trees/`) in a trace.

`operators/nodes.py` has the operations of the stand-ins. The names of their own state start with `_ag_`, because all
other names are attributes of the user's objects."""

from ..conversion import spans
from ..errors import Unencoded
from ..record.ops import LT
from . import scalars


class StandIn:
    """Stands for an object of a tree, for a list of such objects, or for a value that may be None. It can be a staged
    condition: `if node.left:`."""

    __slots__ = ()

    def _ag_truth(self):
        """`bool(self)`: a staged boolean, or its value if it is known while tracing."""
        raise NotImplementedError

    def _ag_is(self, other):
        """`self is other`: a staged boolean, or its value if it is known while tracing."""
        raise NotImplementedError

    def _ag_kinds(self):
        """Returns the classes of the objects for which it stands."""
        raise NotImplementedError


class MaybeNone(StandIn):
    """Stands for a number or tensor, or None."""

    __slots__ = ()

    def _ag_resolved(self):
        """Returns the number or tensor. The graph raises an exception on paths where it is None."""
        raise NotImplementedError


class Row(StandIn):
    """Stands for an object of the class `_ag_kind` in the row `_ag_row`, or for None where the row is negative. If
    `_ag_present`, it is not None on any path."""

    __slots__ = ("_ag_kind", "_ag_row", "_ag_present")

    def _ag_is_none(self):
        return False if self._ag_present else scalars.apply(self._ag_row.node.staging, LT, self._ag_row, 0)


def refuse(kinds, message, span=None):
    """Ends the trace: the call is traced again with the objects of these classes instead of columns."""
    raise Unencoded(kinds, message, span or spans.current())


def resolved(value):
    """Returns a value in which each `MaybeNone` is replaced by its number or tensor."""
    if isinstance(value, MaybeNone):
        return value._ag_resolved()
    if type(value) in (tuple, list):
        return type(value)(map(resolved, value))
    if type(value) is dict:
        return {key: resolved(item) for key, item in value.items()}
    return value


def stand_ins_in(values):
    """Returns the stand-ins among values, and in lists, tuples and dictionaries among the values."""
    pending = list(values)
    while pending:
        value = pending.pop()
        if isinstance(value, StandIn):
            yield value
        elif type(value) is dict:
            pending += value.values()
        elif isinstance(value, (list, tuple)):
            pending += list.__iter__(value) if isinstance(value, list) else tuple.__iter__(value)
