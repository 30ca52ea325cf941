"""The record of a trace: values, nodes and regions in program order.

The graph is built only when the whole function has been traced. Until then, the record can change: a branch may need
further nodes when the other branch has been traced (`x = 1` in the first, `x = 0.5` in the second), and a loop is
traced again if the type of its state changes.
"""

from contextlib import contextmanager
from typing import Optional


class Value:
    """A result of a node, or a parameter of a region."""

    __slots__ = ("type", "region", "name", "node")

    def __init__(self, type, region, name="", node=None):
        self.type = type
        self.region = region
        self.name = name
        self.node = node  # the node that computes it; None for a parameter of a region

    @property
    def visible(self):
        """Whether the region that defines the value encloses the current position. False for results of removed nodes."""
        return self.region.open


class Node:
    """An operation of `record.ops` with its operands."""

    __slots__ = ("op", "args", "outputs", "regions", "span", "grad")

    def __init__(self, op, args, outputs, regions, span, grad):
        self.op = op
        self.args = args
        self.outputs = outputs
        self.regions = regions
        self.span = span
        self.grad = grad


class Region:
    """The nodes of a function, a branch or a loop, with its parameters and results. `memo` caches values that nodes of the
    region compute; `open` is true while nodes are added to the region or to a region inside it."""

    __slots__ = ("parent", "params", "nodes", "results", "open", "depth", "scalars", "memo")

    def __init__(self, parent: Optional["Region"]):
        self.parent = parent
        self.depth = 0 if parent is None else parent.depth + 1
        self.params = []
        self.nodes = []
        self.results = []
        self.open = True
        self.scalars = {}
        self.memo = {}

    def param(self, type, name=""):
        value = Value(type, self, name)
        self.params.append(value)
        return value

    def mark(self):
        """Returns the current state, for `rewind`."""
        return len(self.nodes), dict(self.memo)

    def rewind(self, mark):
        """Removes the nodes that were added after the mark."""
        count, self.memo = mark
        for node in self.nodes[count:]:
            for output in node.outputs:
                output.region = _REMOVED
        del self.nodes[count:]

    def encloses(self, region):
        """Returns whether a region is this one, or is inside it."""
        while region is not None and region is not self:
            region = region.parent
        return region is self


#: The region of the results of removed nodes.
_REMOVED = Region(None)
_REMOVED.open = False


class Record:
    """The regions of a trace. Nodes are added to the current region."""

    def __init__(self):
        self.entry = Region(None)
        self.region = self.entry

    def emit(self, op, args, types, regions=(), span=None, grad=False):
        node = Node(op, list(args), [], list(regions), span, grad)
        node.outputs = [Value(type, self.region, node=node) for type in types]
        self.region.nodes.append(node)
        return node.outputs

    @contextmanager
    def new_region(self):
        """In this block, a new region inside the current one is the current region."""
        region = Region(self.region)
        region.open = False
        with self._at(region):
            yield region

    @contextmanager
    def reopened(self, region):
        """In this block, a region that was already closed is the current region again, and nodes are appended to it."""
        with self._at(region):
            yield region

    @contextmanager
    def _at(self, region):
        before, was_open = self.region, region.open
        self.region, region.open = region, True
        try:
            yield
        finally:
            self.region, region.open = before, was_open
