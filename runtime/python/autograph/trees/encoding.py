"""Encodes the trees among the arguments of a call as columns.

The objects are numbered in breadth-first order. Each object has one row, even if several others refer to it, so sharing
is preserved and cycles end. Only the attributes that a graph reads have columns. Objects are read again in each call,
because the program may change them."""

import threading
from typing import NamedTuple

import torch
from torch.utils import _pytree as pytree

from . import classes
from .columns import MISSING, NUMBER, TENSOR, described, parts, tensors


class Table(NamedTuple):
    """The columns of a class. Each row represents an object of the class `kind`."""

    kind: type
    columns: tuple


class EncodedRoot:
    """A node among the arguments, or a list or tuple of `count` nodes. The first root of a call contains the tensors of
    all roots: their rows, and the columns of the tables."""

    def __init__(self, kind, position, count=None, tables=None, tensors=()):
        self.kind = kind
        self.position = position  # the position of its row among the rows of all roots
        self.count = count
        self.tables = tables
        self.tensors = tensors


def _names(tables):
    return ["rows", *(f"{table.kind.__name__}.{name}" for table in tables or () for c in table.columns for name in parts(c))]


def _flatten(root):
    return list(root.tensors), (root.kind, root.position, root.count, root.tables)


def _flatten_with_keys(root):
    children, context = _flatten(root)
    return [(pytree.GetAttrKey(name), child) for name, child in zip(_names(root.tables), children)], context


def _unflatten(children, context):
    return EncodedRoot(*context, tuple(children))


pytree.register_pytree_node(
    EncodedRoot,
    _flatten,
    _unflatten,
    serialized_type_name="autograph.trees.EncodedRoot",
    flatten_with_keys_fn=_flatten_with_keys,
)


class Encoded:
    """The arguments of a call with an `EncodedRoot` in place of each node."""

    def __init__(self):
        self.args = self.kwargs = None
        self.roots = []  # the nodes, in the order of their positions
        self.first_root = None
        self.nodes = {}  # ("rows", class) -> the nodes of the class, in the order of their rows
        self.originals = {}  # id of a new container -> the original container

    def original(self, container):
        """Returns the original of a container; the container itself if the encoding did not replace it."""
        return self.originals.get(id(container), container)

    def sizes(self, leaves):
        """Returns the dynamic dimensions of the leaves, by leaf index. The columns have one, because the number of
        their rows may differ between calls; staged code cannot read it."""
        columns = {id(tensor) for tensor in self.first_root.tensors[1:]}
        return {index: {0: None} for index, leaf in enumerate(leaves) if id(leaf) in columns}


class TreeEncoder:
    """Encodes the trees among the arguments of one staged function. Stores the attributes that its graphs read, and the
    classes whose objects are not encoded."""

    def __init__(self):
        self.columns = {}  # class -> {name of an attribute: Column, or None before its first call}
        self.excluded = set()
        self._lock = threading.RLock()

    def read(self, kind, name):
        """Adds an attribute that a graph reads."""
        with self._lock:
            self.columns.setdefault(kind, {}).setdefault(name, None)

    def exclude(self, kinds, roots):
        """Excludes classes from encoding: those of `kinds` that are classes of roots; if there are none, the classes of
        all roots. Returns the excluded classes."""
        of_roots = {type(root) for root in roots}
        excluded = kinds & of_roots or of_roots
        self.excluded |= excluded
        return excluded

    def include(self, kinds):
        """Encodes objects of these classes again."""
        self.excluded -= kinds

    def encoded(self, args, kwargs):
        """Returns the arguments with their trees encoded; None if they contain no trees."""
        with self._lock:
            return self._encoded(args, kwargs)

    def _encoded(self, args, kwargs):
        encoded = Encoded()
        encoded.args = tuple([self._replaced(value, encoded) for value in args])
        encoded.kwargs = {name: self._replaced(value, encoded) for name, value in kwargs.items()}
        if encoded.first_root is None:
            return None
        encoded.first_root.tables, encoded.first_root.tensors, nodes = self._tables(encoded.roots)
        encoded.nodes = {("rows", kind): found for kind, found in nodes.items()}
        return encoded

    def _replaced(self, value, encoded):
        """Returns the value with roots in place of nodes; the value itself if it contains no nodes."""
        kind = type(value)
        if kind is dict:
            items = {key: self._replaced(item, encoded) for key, item in value.items()}
            if all(items[key] is value[key] for key in value):
                return value
            encoded.originals[id(items)] = value
            return items
        if kind is list or kind is tuple:
            if value and len(set(map(type, value))) == 1 and all(map(self._is_node, value)):
                return self._root(encoded, type(value[0]), value, len(value))
            items = [self._replaced(item, encoded) for item in value]
            if all(a is b for a, b in zip(items, value)):
                return value
            if kind is tuple:
                return tuple(items)
            encoded.originals[id(items)] = value
            return items
        return self._root(encoded, kind, [value], None) if self._is_node(value) else value

    def _is_node(self, value):
        return type(value) not in self.excluded and classes.is_plain(type(value)) and classes.is_node_class(type(value))

    def _root(self, encoded, kind, nodes, count):
        root = EncodedRoot(kind, len(encoded.roots), count)
        encoded.roots += nodes
        if encoded.first_root is None:
            encoded.first_root = root
        return root

    def _tables(self, roots):
        """Returns the tables of all nodes that can be reached from the roots through the attributes that graphs read,
        their tensors, and the nodes of each class in the order of their rows."""
        nodes, rows, values = {kind: [] for kind in self.columns}, {}, {}
        _add(roots, nodes, rows)
        done = dict.fromkeys(nodes, 0)
        while pending := [kind for kind in nodes if done.setdefault(kind, 0) < len(nodes[kind])]:
            for kind in pending:
                batch, done[kind] = nodes[kind][done[kind] :], len(nodes[kind])
                for name in self.columns.get(kind, ()):
                    found = [getattr(node, name, MISSING) for node in batch]
                    values.setdefault((kind, name), []).extend(found)
                    _add(_linked(found), nodes, rows)
        described_columns = self._described(nodes, values)
        tables = tuple(Table(kind, tuple(columns)) for kind, columns in described_columns.items())
        found = [torch.tensor([rows[id(node)] for node in roots], dtype=torch.int64, device="cpu")]
        for kind, columns in described_columns.items():
            for column in columns:
                found += tensors(column, values.get((kind, column.name), []), rows)
        return tables, tuple(found), nodes

    def _described(self, nodes, values):
        """Returns the column of each attribute that graphs read. If a column differs from that of earlier calls, all columns of
        numbers and tensors become optional, so that few further calls need another trace."""
        is_wider, found = False, {}
        for kind, known in self.columns.items():
            found[kind] = []
            for name, before in known.items():
                column = described(kind, name, values.get((kind, name), []), before)
                found[kind].append(column)
                is_wider = is_wider or before is not None and _is_wider(before, found[kind][-1])
        for kind, columns in found.items():
            if is_wider:
                columns[:] = [c._replace(is_optional=True) if c.form in (NUMBER, TENSOR) else c for c in columns]
            self.columns[kind].update((column.name, column) for column in columns)
        return found


def _is_wider(before, column):
    return before.form != column.form or column.is_optional and not before.is_optional


def _linked(values):
    """Returns the nodes among the values of an attribute, or in the lists and tuples among the values."""
    kinds = set(map(type, values))
    if any(map(classes.is_plain, kinds)):
        return [value for value in values if classes.is_plain(type(value))]
    if list in kinds or tuple in kinds:
        return [item for value in values if type(value) in (list, tuple) for item in value if classes.is_plain(type(item))]
    return []


def _add(found, nodes, rows):
    """Assigns rows to the nodes that have none yet."""
    for node in found:
        if id(node) not in rows:
            known = nodes.setdefault(type(node), [])
            rows[id(node)] = len(known)
            known.append(node)
