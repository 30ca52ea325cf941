"""Nodes of trees in staged code. A node is a row of columns, and reading an attribute gathers from a column:

    node.value                         # values[row]
    node.left is None                  # lefts[row] < 0
    for child in node.children: ...    # a loop of the graph over rows

The columns are inputs of the graph (`trees/`). Code that needs the objects themselves ends the trace with `Unencoded`; the
call is then traced with the objects."""

import functools
import operator
import types

import torch

from ..capture import scalars
from ..capture.rows import MaybeNone, Row, StandIn, refuse, resolved
from ..capture.staging import current
from ..capture.unbound import Maybe
from ..errors import ColumnMissing
from ..record.ops import AND, EQ, GE, IF, ITEM, LT, NOT, OR, Raise, of_torch
from ..record.types import BOOL, FLOAT, INT, TensorType
from ..trees.classes import is_record
from ..trees.columns import ALWAYS_NONE, NODE, NODES, NUMBER, REFUSED, parts
from .calls import call
from .ranges import Iterable

_SELECT = of_torch(torch.ops.aten.select.int)
_NUMBERS = {int: INT, float: FLOAT, bool: BOOL}


class Trees:
    """The trees of one trace: the columns of each class, and the stand-ins of the roots."""

    def __init__(self, staging, root):
        tensors = iter(root.tensors)
        self.staging = staging
        self.rows = next(tensors)
        self.columns = {}  # class -> {name of an attribute: (Column, its tensors)}
        for table in root.tables:
            self.columns[table.kind] = {c.name: (c, [next(tensors) for _ in parts(c)]) for c in table.columns}
        self.fakes = root.tensors
        self.roots = []  # (node, position among the roots)

    def begin(self):
        """Reads the rows of the roots, at the beginning of the trace."""
        for node, position in self.roots:
            node._ag_row = _gathered(self.staging, self.rows, position, INT)

    def node(self, kind, row):
        """Returns the stand-in for the object of class `kind` in row `row`."""
        return _node(kind, row, False)

    def stand_in(self, root):
        """Returns the stand-in for a root among the arguments."""
        if root.count is not None:
            return Nodes(root.kind, self.rows, root.position, root.count)
        node = _node(root.kind, None, True)
        self.roots.append((node, root.position))
        return node


def _gathered(staging, column, row, kind):
    """Returns the number in a row of a column. It is read at most once on each path."""
    value = staging.value_of(column, is_use=False)
    operand = scalars.lower(staging, row)
    return staging.scalar(_once(staging, ("row", value, operand), lambda: _read(staging, value, operand, kind)))


def _read(staging, value, operand, kind):
    element = TensorType(value.type.dtype, (), value.type.device)
    selected = staging.emit(_SELECT, [value, 0, operand], [element])
    return staging.emit(ITEM, selected, [kind])[0]


def _selected(column, row):
    """Returns the tensor in a row of a column, as a view. `tracing/trees.py` refuses writes to it, because they would
    change the column."""
    with torch._C.DisableTorchFunction(), torch._C._AutoDispatchBelowAutograd():  # called for operands of torch, too
        return torch.ops.aten.select.int(column, 0, row)


def _once(staging, key, make):
    """Returns the result of `make()`, which is cached by the key in the current region. A result that is cached in an enclosing
    region is reused."""
    region = staging.record.region
    while region is not None:
        if key in region.memo:
            return region.memo[key]
        region = region.parent
    found = staging.record.region.memo[key] = make()
    return found


def _raise_if(staging, flag, kind, message):
    """Raises an exception of the graph where the flag is true."""
    if flag is False:
        return
    with staging.record.new_region() as fails:
        staging.emit(Raise(kind), [message], [])
    with staging.record.new_region() as holds:
        pass
    staging.emit(IF, [scalars.lower(staging, flag)], [], regions=[fails, holds])


def _not(flag):
    return not flag if isinstance(flag, bool) else scalars.apply(current(), NOT, flag)


class Node(Row):
    """The stand-in of a node. Its attribute `__class__` is the user's class, so that `isinstance` tests that class."""

    __slots__ = ()

    def __getattribute__(self, name):
        return object.__getattribute__(self, name) if name.startswith("_ag_") else _attribute(self, name)

    def __setattr__(self, name, value):
        if not name.startswith("_ag_"):
            refuse({self._ag_kind}, f"this assigns the attribute `{name}` of a node")
        object.__setattr__(self, name, value)

    def __delattr__(self, name):
        refuse({self._ag_kind}, f"this deletes the attribute `{name}` of a node")

    def _ag_kinds(self):
        return {self._ag_kind}

    def _ag_truth(self):
        kind = self._ag_kind
        if not is_record(kind) and any(_member(kind, name) is not None for name in ("__bool__", "__len__")):
            refuse({kind}, f"the class `{kind.__name__}` defines whether a node is true")
        return _not(self._ag_is_none())

    def _ag_is(self, other):
        if other is None:
            return self._ag_is_none()
        if isinstance(other, Node):
            return self._ag_is_row(other)
        if type(other) is self._ag_kind:
            refuse({self._ag_kind}, "this compares a node with an object from outside of the arguments")
        return False

    def _ag_is_row(self, other):
        staging = current()
        if self._ag_kind is other._ag_kind:
            return scalars.apply(staging, EQ, self._ag_row, other._ag_row)
        none, others = self._ag_is_none(), other._ag_is_none()
        return False if none is False or others is False else scalars.apply(staging, AND, none, others)

    def _ag_instance(self, kinds):
        """`isinstance(self, kinds)`."""
        of_none, of_node = isinstance(None, kinds), issubclass(self._ag_kind, kinds)
        if of_none == of_node:
            return of_node
        none = self._ag_is_none()
        return none if of_none else _not(none)

    def _ag_type(self):
        """`type(self)`."""
        if not self._ag_present:
            refuse({self._ag_kind}, "this needs the class of an object that may be None")
        return self._ag_kind

    def __eq__(self, other):
        if other is not None and _member(self._ag_kind, "__eq__") is not None:
            refuse({self._ag_kind}, f"the class `{self._ag_kind.__name__}` defines which nodes are equal")
        return self._ag_is(other)

    def __ne__(self, other):
        return _not(self == other)


def _refused(name):
    def method(self, *args, **keywords):
        refuse(self._ag_kinds(), f"`{name}` needs the object itself")

    return method


for _name in ("__hash__", "__repr__", "__str__", "__format__", "__bool__", "__reduce_ex__", "__copy__", "__deepcopy__"):
    setattr(Node, _name, _refused(_name))

#: Special methods that are not called by operators, or that a stand-in defines itself.
_OWN = {
    *dir(Node), "__init__", "__new__", "__post_init__", "__init_subclass__", "__class_getitem__", "__getnewargs__", "__replace__",
}  # fmt: skip


@functools.lru_cache(maxsize=1024)
def _class_of(kind):
    """Returns the class of the stand-ins for objects of class `kind`. It has the special methods of `kind`, such as
    `__len__`."""
    if is_record(kind):
        members = {"__len__": lambda node: len(kind._fields), "__iter__": _fields, "__getitem__": _field}
        return type(kind.__name__, (Node,), {"__slots__": (), **members})
    names = {name for base in kind.__mro__ for name in base.__dict__ if base is not object and name.startswith("__")}
    names = {name for name in names - _OWN if isinstance(_member(kind, name), types.FunctionType)}
    return type(kind.__name__, (Node,), {"__slots__": (), **{name: _forwarded(kind, name) for name in names}})


def _forwarded(kind, name):
    function = _member(kind, name)
    return lambda node, *args, **keywords: call(function, (node, *args), keywords)


def _fields(node):
    return iter([_attribute(node, name) for name in node._ag_kind._fields])


def _field(node, index):
    if isinstance(index, slice):
        return tuple(_fields(node))[index]
    return _attribute(node, node._ag_kind._fields[index])


def _node(kind, row, is_present):
    node = object.__new__(_class_of(kind))
    node._ag_kind, node._ag_row, node._ag_present = kind, row, is_present
    return node


def _member(kind, name):
    """Returns the attribute of a class with this name; None if only `object` defines it."""
    for base in kind.__mro__:
        if name in base.__dict__ and base is not object:
            return base.__dict__[name]
    return None


def _attribute(node, name):
    kind = node._ag_kind
    if name == "__class__":
        return kind
    member = _member(kind, name)
    if name.startswith("__") and name.endswith("__"):
        if member is None or name == "__dict__":
            if name in ("__dict__", "__module__", "__doc__"):
                refuse({kind}, f"this reads `{name}` of a node")
            raise AttributeError(f"'{kind.__name__}' object has no attribute '{name}'")
    else:
        _check_present(node, f"'NoneType' object has no attribute '{name}'")
    if isinstance(member, types.FunctionType):
        return types.MethodType(member, node)
    if isinstance(member, property):
        return call(member.fget, (node,), {})
    if isinstance(member, functools.cached_property):
        return call(member.func, (node,), {})
    if isinstance(member, (classmethod, staticmethod)) or hasattr(type(member), "__ag_inline__"):
        return member.__get__(node, kind)
    return _value(node, name)


def _check_present(node, message):
    """Makes the graph raise an `AttributeError` if the node is None. Checks this at most once on each path."""
    if not node._ag_present:
        staging = current()
        key = "present", scalars.lower(staging, node._ag_row)
        _once(staging, key, lambda: _raise_if(staging, node._ag_is_none(), AttributeError, message) or True)


def _value(node, name):
    """Returns the value of the attribute `name` of a node: the item of the attribute's column in the row of the
    node."""
    staging, kind, row = current(), node._ag_kind, node._ag_row
    found = staging.trees.columns.get(kind, {}).get(name)
    if found is None:
        raise ColumnMissing(kind, name)
    column, tensors = found
    if column.form == REFUSED:
        refuse({kind}, f"the attribute `{name}` cannot be a column: {column.kind}")
    if column.form == ALWAYS_NONE:
        return None
    if column.form == NODE:
        return _node(column.kind, _gathered(staging, tensors[0], row, INT), False)
    if column.form == NODES:
        start, length = (_gathered(staging, tensor, row, INT) for tensor in tensors[:2])
        return Nodes(column.kind, tensors[2], start, length)
    if column.form == NUMBER:
        get = functools.partial(_gathered, staging, tensors[0], row, _NUMBERS[column.kind])
    else:
        get = functools.partial(_selected, tensors[0], row)
    if not column.is_optional:
        return get()
    return Value(kind, name, _gathered(staging, tensors[1], row, BOOL), get)


class Nodes(Iterable, StandIn):
    """The stand-in for a list or tuple of nodes without None. The rows of the nodes are `count` items of the tensor
    `items`, from the index `start` on."""

    __slots__ = ("_ag_kind", "items", "start", "count")

    def __init__(self, kind, items, start, count):
        self._ag_kind, self.items, self.start, self.count = kind, items, start, count

    def _ag_kinds(self):
        return {self._ag_kind}

    def _ag_truth(self):
        return self.count > 0

    def _ag_is(self, other):
        if other is not None:
            refuse({self._ag_kind}, "this compares a list of nodes with another object")
        return False

    def at(self, index):
        return _node(self._ag_kind, _gathered(current(), self.items, self.start + index, INT), True)

    def bounds(self):
        return 0, self.count, 1

    def length(self):
        return self.count

    def __bool__(self):
        return len(self) > 0

    def __len__(self):
        if isinstance(self.count, int):
            return self.count
        refuse({self._ag_kind}, "this needs the length of a list of nodes")

    def __getitem__(self, index):
        if isinstance(index, slice):
            refuse({self._ag_kind}, "this takes a slice of a list of nodes")
        if isinstance(index, torch.Tensor):
            index = current().item(index)
        return self.at(self._position(index))

    def _position(self, index):
        """Returns a non-negative index. Raises an `IndexError` if the index is out of range."""
        if isinstance(index, int) and isinstance(self.count, int):
            return range(self.count)[index]
        staging = current()
        below = scalars.apply(staging, LT, index, 0) if not isinstance(index, int) else index < 0
        if below is True:
            index = self.count + index
        elif below is not False:
            shift = scalars.apply(staging, scalars.CONVERSIONS[INT], below)
            index = index + shift * self.count
        outside = scalars.apply(staging, GE, index, self.count)
        if below is not False:
            outside = scalars.apply(staging, OR, outside, scalars.apply(staging, LT, index, 0))
        _raise_if(staging, outside, IndexError, "list index out of range")
        return index

    def __getattr__(self, name):
        if name.startswith("__") or not (hasattr(list, name) or hasattr(tuple, name)):
            raise AttributeError(f"a list of nodes has no attribute '{name}'")
        refuse({self._ag_kind}, f"this uses `{name}` of a list of nodes")


class Value(MaybeNone):
    """The stand-in of a number or tensor that may be None. Every use except a test for None raises a `TypeError` where it
    is None."""

    __slots__ = ("_ag_kind", "_ag_name", "_ag_flag", "_ag_get")

    def __init__(self, kind, name, flag, get):
        self._ag_kind, self._ag_name, self._ag_flag, self._ag_get = kind, name, flag, get

    def _ag_kinds(self):
        return {self._ag_kind}

    def _ag_truth(self):
        value = self._ag_get()
        if isinstance(value, torch.Tensor):
            return self._ag_resolved()
        is_true = value if scalars.kind_of(value) == BOOL else value != 0
        return scalars.apply(current(), AND, self._ag_flag, is_true)

    def _ag_is(self, other):
        if other is not None:
            refuse({self._ag_kind}, f"this compares the identity of `{self._ag_name}`")
        return _not(self._ag_flag)

    def _ag_resolved(self):
        """Returns the value. The graph raises an exception on paths where it is None."""
        staging = current()
        key = "present", scalars.lower(staging, self._ag_flag)
        message = f"`{self._ag_name}` of a `{self._ag_kind.__name__}` is None"
        _once(staging, key, lambda: _raise_if(staging, _not(self._ag_flag), TypeError, message) or True)
        return self._ag_get()

    def _ag_maybe(self):
        """Returns the value as a `Maybe`: a variable that is None on some paths."""
        return Maybe(self._ag_get(), self._ag_flag, None)

    def __eq__(self, other):
        number = self._ag_get()
        if isinstance(number, torch.Tensor) or isinstance(other, Value):
            return self._ag_resolved() == resolved(other)
        if other is None:
            return self._ag_is(None)
        equal = number == other
        return equal if isinstance(equal, bool) and not equal else scalars.apply(current(), AND, self._ag_flag, equal)

    def __ne__(self, other):
        equal = self == other
        return equal.logical_not() if isinstance(equal, torch.Tensor) else _not(equal)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._ag_resolved(), name)

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        args, kwargs = resolved((args, kwargs or {}))
        return function(*args, **kwargs)


def _operator(name):
    method = getattr(operator, name)

    def operate(self, *others):
        return method(self._ag_resolved(), *map(resolved, others))

    def reflected(self, other):
        return method(resolved(other), self._ag_resolved())

    return operate, reflected


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor"):
    _special = _name.rstrip("_")
    _operate, _reflected = _operator(_name)
    setattr(Value, f"__{_special}__", _operate)
    setattr(Value, f"__r{_special}__", _reflected)
for _name in ("lt", "le", "gt", "ge", "neg", "pos", "abs", "invert", "getitem"):
    setattr(Value, f"__{_name}__", _operator(_name)[0])
for _name in (
    "__hash__", "__repr__", "__str__", "__bool__", "__len__", "__iter__", "__index__", "__format__", "__setitem__", "__contains__",
):  # fmt: skip
    setattr(Value, _name, _refused(_name))
for _name in (
    "__hash__", "__repr__", "__str__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__format__", "__contains__",
    "__setitem__", "__delitem__", "__add__", "__radd__", "__iadd__", "__mul__", "__rmul__", "__imul__",
):  # fmt: skip
    setattr(Nodes, _name, _refused(_name))
