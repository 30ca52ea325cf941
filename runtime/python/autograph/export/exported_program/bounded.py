"""Lists that grow in a loop: the items are rows of a tensor that is allocated before the loop.

    for i in range(n):               rows, length = zeros(n, 3), 0
        if c: items.append(x)        rows, length = while_loop(... rows[length] = x, length + 1 ...)
                                     items = rows[:length]

In torch's loops, shapes are the same in each iteration. So the tensor has rows for all items from the start. Their
number is the number of iterations times the maximum number of items that an iteration appends. The number of iterations
may depend on data.
"""

import torch

from ..graph import BOOL, FLOAT, INT, List, Tensor, Value
from . import numbers
from .structure import Bounded, Stacked


def growth(body, offset):
    """Returns by how many items an iteration changes the length of each list that a loop carries: position of the list ->
    (minimum, maximum). Omits lists that keep their length, lists that may be replaced by another list, and lists whose
    growth is unknown. The loop carries the parameters of the body after the first `offset`."""
    found = {}
    for place, (param, result) in enumerate(zip(body.params[offset:], body.results)):
        if isinstance(param.type, List) and isinstance(result, Value):
            change = _Changes(param).of(body, result)
            if change is not None and change != (0, 0):
                found[place] = change
    return found


class _Changes:
    """The values that are derived from a list that a loop carries, and how many more items they have than this list."""

    def __init__(self, param):
        self.known, self.lengths = {param: (0, 0)}, {}

    def of(self, region, value):
        """Returns (minimum, maximum) for a value that this region or an enclosing one defines; None if the value is not derived
        from the list."""
        for node in region.nodes:
            self.visit(node)
        return self.known.get(value)

    def visit(self, node):
        if node.op in _CHANGES:
            self.shift(node.outputs[0], node.operands[0], *_CHANGES[node.op])
        elif node.op == "list.new":
            self.lengths[node.outputs[0]] = len(node.operands)
        elif node.op == "list.concat":
            left, right = node.operands
            count = len(right) if isinstance(right, list) else self.lengths.get(right)
            if count is not None:
                self.shift(node.outputs[0], left, count, count)
        elif node.op == "if":
            for output, *changes in zip(node.outputs, *map(self.ends, node.regions)):
                changes = [c for c, region in zip(changes, node.regions) if not _raises(region)]
                if changes and None not in changes:
                    self.known[output] = min(low for low, _ in changes), max(high for _, high in changes)
        elif node.op == "for":
            self.loop(node)

    def ends(self, region):
        """Returns for each result of a branch how many more items it has than the list."""
        return [self.of(region, result) if isinstance(result, Value) else None for result in region.results]

    def shift(self, output, operand, least, most):
        if isinstance(operand, Value) and operand in self.known:
            low, high = self.known[operand]
            self.known[output] = low + least, high + most

    def loop(self, node):
        """Visits a nested `for`. If a list grows in it, the list after the loop counts as derived from this list only
        if the number of iterations is known."""
        body, *tests = node.regions
        bounds, starts = node.operands[:3], node.operands[3:]
        count = len(range(*bounds)) if all(type(bound) is int for bound in bounds) and bounds[2] else None
        for place, (start, output) in enumerate(zip(starts, node.outputs)):
            if not isinstance(start, Value) or start not in self.known or not isinstance(body.results[place], Value):
                continue
            low, high = self.known[start]
            change = _Changes(body.params[place + 1]).of(body, body.results[place])
            if change == (0, 0):
                self.known[output] = low, high
            elif change is not None and count is not None:
                least = min(0, count * change[0]) if tests else count * change[0]
                self.known[output] = low + least, high + count * change[1]


#: The minimum and maximum number of items that an operation adds to its operand. The maximum of `pop` is 0, not -1:
#: the rows that it frees are not counted.
_CHANGES = {"list.append": (1, 1), "list.insert": (1, 1), "list.set": (0, 0), "list.pop": (-1, 0)}


def _raises(region):
    return any(node.op == "raise" for node in region.nodes)


class BoundedLists:
    """Allocates the tensors for growing lists before a loop, and computes the operations on such lists in the loop."""

    def with_capacity(self, operand, element, count):
        """Returns a list as a `Bounded` with capacity for `count` more items; None if its elements are neither numbers nor
        tensors of one known shape."""
        found = self.value(operand)
        if isinstance(found, Bounded):
            return found  # an enclosing loop has already allocated the tensor
        found = found if isinstance(found, Stacked) else self.rows(found, element)
        if found is None or not (element in (BOOL, INT, FLOAT) or isinstance(element, Tensor)):
            return None
        rows = found.rows
        total = rows.size(0) + count
        if not isinstance(total, int):  # `cond` returns tensors whose sizes are symbols, not expressions
            total = size_of(torch.scalar_tensor(total, dtype=torch.int64))
            torch._check(rows.size(0) <= total)
        space = torch.zeros([total, *rows.shape[1:]], dtype=rows.dtype, device=rows.device)
        if not (isinstance(rows.size(0), int) and rows.size(0) == 0):
            space = torch.index_copy(space, 0, torch.arange(rows.size(0)), rows)
        return Bounded(space, torch.scalar_tensor(rows.size(0), dtype=torch.int64))

    def iterations(self, bounds):
        """Returns the length of `range(*bounds)`: an integer, or a size that depends on data."""
        if all(isinstance(bound, int) for bound in bounds):
            return len(range(*bounds))
        start, stop, step = (numbers.as_tensor(bound, INT) for bound in bounds)
        count = torch.div(stop - start + step - torch.sign(step), step, rounding_mode="floor").clamp(min=0)
        return size_of(count)

    def trimmed(self, found):
        """Returns the list after the loop, without the unused rows."""
        if not isinstance(found, Bounded):
            return found
        length = size_of(found.length)
        torch._check(length <= found.rows.size(0))
        return Stacked(found.rows.narrow(0, 0, length))

    def appended(self, found, item, element):
        item = item if isinstance(item, torch.Tensor) else numbers.as_tensor(item, element)
        rows = torch.index_copy(found.rows, 0, found.length.reshape(1), item.to(found.rows.dtype).unsqueeze(0))
        self.fresh[id(rows)] = rows
        return Bounded(rows, found.length + 1)

    def inserted(self, found, index, item, element):
        """Implements `list.insert`: an index that is out of range is clamped to an end of the list."""
        index = numbers.as_tensor(index, INT)
        index = torch.where(index < 0, index + found.length, index).clamp(min=0)
        index = torch.where(index > found.length, found.length, index)
        places = torch.arange(found.rows.size(0))
        rows = torch.index_select(found.rows, 0, torch.where(places > index, places - 1, places))
        item = item if isinstance(item, torch.Tensor) else numbers.as_tensor(item, element)
        return Bounded(torch.index_copy(rows, 0, index.reshape(1), item.unsqueeze(0)), found.length + 1)

    def popped(self, found, index):
        """Returns the list without the item at an index, and the item."""
        index = self.place(found, index, "pop index out of range")
        places = torch.arange(found.rows.size(0))
        after = torch.where(places >= index, places + 1, places)
        rows = torch.index_select(found.rows, 0, torch.where(after == found.rows.size(0), places, after))
        return Bounded(rows, found.length - 1), torch.index_select(found.rows, 0, index).squeeze(0)

    def place(self, found, index, message="list index out of range"):
        """Returns a non-negative index of a list, as a tensor with one element. The program raises an exception if the index is
        out of range."""
        index = numbers.as_tensor(index, INT)
        index = torch.where(index < 0, index + found.length, index)
        self.check((index >= 0) & (index < found.length), message)
        return self.checked(index).clamp(min=0).reshape(1)


def size_of(count):
    """Converts a tensor with an integer to a size that shapes can use."""
    size = count.item()
    torch._check(size >= 0)
    return size
