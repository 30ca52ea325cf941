"""Finds regions: nodes of straight-line code that can be computed together, before any other node uses a result.

    x = a * b           region 1
    n += 1              independent of region 1: moved before it
    y = x.tanh()        region 1
    items.append(y)     depends on region 1: moved after it
    print(n)            an effect: nothing moves across it
    z = y.exp()         region 2
"""

import torch

from ..graph import Tensor, values
from .eligible import is_eligible, is_view, overload

#: The minimum number of elements of a region's intermediate results, which compiled code does not write to memory. A
#: region with fewer elements is not worth compiling: the call of its code takes 12 µs, most of it in Inductor's
#: wrapper. (On one thread, 4 operators on 32,768 elements take 14 µs with Inductor and 14 µs without it; 12 operators
#: take 14 µs with Inductor and 47 µs without it.)
MIN_ELEMENTS = 98_304
#: The assumed size of a dimension that is known only when the graph runs. It is large, so that the region is formed. When the
#: graph runs, the actual sizes decide whether the region is compiled.
UNKNOWN_SIZE = 1_048_576
#: Larger regions are split: Inductor needs more than a minute for a thousand operators.
MAX_OPERATORS = 400

_COPIES = (torch.ops.aten.clone, torch.ops.aten.cat, torch.ops.aten.stack, torch.ops.aten.zeros_like, torch.ops.aten.ones_like)
#: Operations without effects that may be moved before or after a region. If such a node and an operator of the region would
#: both raise an exception, the exception of the later one may be raised.
_MOVABLE = {
    "size", "tuple.new", "tuple.get", "list.new", "list.append", "list.len", "scalar.add", "scalar.sub", "scalar.mul",
    "scalar.neg", "scalar.abs", "scalar.min", "scalar.max", "scalar.eq", "scalar.ne", "scalar.lt", "scalar.le", "scalar.gt",
    "scalar.ge", "scalar.and", "scalar.or", "scalar.not", "scalar.select", "scalar.float", "scalar.bool",
}  # fmt: skip


class Region:
    """Nodes that are computed together.

    `inputs` are the values from outside. `results` are the values that other nodes use. If they use a view, the viewed
    value is the result, and the nodes `views` compute the view again after the region."""

    def __init__(self, nodes, used):
        defined = {output: node for node in nodes for output in node.outputs}
        needed = {output for output in defined if output in used}
        self.views = []
        for node in reversed(nodes):
            if is_view(node) and any(output in needed for output in node.outputs):
                needed.difference_update(node.outputs)
                needed.update(value for value in _read(node) if value in defined)
                self.views.insert(0, node)
        self.results = [output for node in nodes for output in node.outputs if output in needed]
        self.nodes = self._needed(nodes)
        inputs = dict.fromkeys(value for node in self.nodes for value in _read(node))
        self.inputs = [value for value in inputs if value not in defined]

    def _needed(self, nodes):
        """Returns the nodes on which the results of the region depend."""
        live, found = set(self.results), []
        for node in reversed(nodes):
            if any(output in live for output in node.outputs):
                live.update(_read(node))
                found.insert(0, node)
        return found

    def is_profitable(self, unknown_size=UNKNOWN_SIZE):
        """Returns whether the compiled region is expected to be faster than its nodes, if unknown dimensions have this
        size."""
        fused = [output for node in self.nodes if _is_fused(node) for output in node.outputs]
        inside = [_elements(output.type, unknown_size) for output in fused if output not in self.results]
        return bool(inside) and sum(inside) >= MIN_ELEMENTS

    @property
    def lines(self):
        """The files and lines of the nodes, in program order."""
        return sorted({node.span[:2] for node in self.nodes if node.span is not None})


class StraightLine:
    """The body of a branch, a loop or a function. `items` contains its regions (`Region`) and all other nodes, in an order in
    which they can be computed."""

    def __init__(self, body, also_used=()):
        self.items = []
        self._group, self._after, self._defined = [], [], set()
        self._uses = _uses(body)
        for node in body.nodes:
            self._add(node)
        self._close()

    def _add(self, node):
        read = set(_read_by(node))
        if is_eligible(node) and len(self._group) < MAX_OPERATORS:
            if any(output in read for other in self._after for output in other.outputs):
                self._close()
            self._group.append(node)
            self._defined.update(node.outputs)
        elif node.op in _MOVABLE:
            if self._defined.isdisjoint(read):
                self.items.append(node)
            else:
                self._after.append(node)
                self._defined.update(node.outputs)
        else:
            self._close()
            if is_eligible(node):
                self._add(node)
            else:
                self.items.append(node)

    def _close(self):
        for nodes in connected(self._group):
            inside = set(map(id, nodes))
            used = {output for node in nodes for output in node.outputs if self._uses.get(output, set()) - inside}
            region = Region(nodes, used)
            if region.is_profitable():
                self.items.append(region)
                self.items += region.views
            else:
                self.items += nodes
        self.items += self._after
        self._group, self._after, self._defined = [], [], set()


def connected(nodes):
    """Splits nodes into groups so that no node uses a result of another group. Inductor could fuse nothing across groups,
    and a sum in a loop (`total = total + x`) should not join a larger region: the plan adds in place, which is faster."""
    parent = list(range(len(nodes)))

    def root(place):
        while parent[place] != place:
            parent[place] = place = parent[parent[place]]
        return place

    defined = {}
    for place, node in enumerate(nodes):
        for value in _read(node):
            if value in defined:
                parent[root(place)] = root(defined[value])
        defined.update((output, place) for output in node.outputs)
    groups = {}
    for place, node in enumerate(nodes):
        groups.setdefault(root(place), []).append(node)
    return list(groups.values())


def _uses(body):
    """Returns a dictionary from each value to a set of the ids of the nodes that use it. The set also contains None if
    the value is a result of the body."""
    found = {}
    for node in body.nodes:
        for value in _read_by(node):
            found.setdefault(value, set()).add(id(node))
    for result in body.results:
        for value in values(result):
            found.setdefault(value, set()).add(None)
    return found


def _read(node):
    """Returns the values among the operands of a node."""
    return [value for operand in node.operands for value in values(operand)]


def _read_by(node):
    """Yields the values that a node and its regions use."""
    pending = [node]
    while pending:
        node = pending.pop()
        yield from _read(node)
        for region in node.regions:
            pending += region.nodes
            for result in region.results:
                yield from values(result)


def _is_fused(node):
    """Returns whether Inductor fuses a node with others: it is not a view, a constant or a copy into a larger
    tensor."""
    operator = overload(node.op)
    return torch.Tag.pointwise in operator.tags or bool(_read(node)) and not is_view(node) and operator.overloadpacket not in _COPIES


def _elements(type, unknown_size):
    if not isinstance(type, Tensor):
        return 0
    count = 1
    for size in type.shape:
        count *= size if isinstance(size, int) else unknown_size
    return count

