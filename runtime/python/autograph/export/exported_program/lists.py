"""Lists and tuples in a program of torch.export. Their lengths are known when the program is written."""

import torch

from ..graph import BOOL, FLOAT, INT, NONE, Tensor, type_of
from ..refusals import refuse
from . import numbers, operators
from .structure import Stacked


class Lists:
    """The nodes for lists and tuples."""

    def _tuple_new(self, node, *items):
        self.define(node, tuple(map(self.converted, items, node.outputs[0].type.items)))

    def _tuple_get(self, node, tuple):
        self.define(node, self.value(tuple)[node.detail])

    def _list_new(self, node, *items):
        element = node.outputs[0].type.element
        self.define(node, [self.converted(item, element) for item in items])

    def _list_filled(self, node, length, item):
        element = node.outputs[0].type.element
        item = self.empty(element) if type_of(item) == NONE and isinstance(element, Tensor) else self.converted(item, element)
        self.define(node, [item] * self.known(length, node, "the length of a list"))

    def empty(self, type):
        """What a list holds in place of None before it is filled with tensors."""
        shape = type.shape if type.shape is not None and all(isinstance(size, int) for size in type.shape) else [0]
        return torch.zeros(shape, dtype=type.dtype, device=type.device)

    def _list_len(self, node, operand):
        found = self.value(operand)
        self.define(node, found.rows.size(0) if isinstance(found, Stacked) else len(found))

    def _list_get(self, node, operand, index):
        found, index = self.value(operand), self.value(index)
        if not isinstance(found, Stacked) and isinstance(index, int):
            self.checked_index(found, index, node)
            self.define(node, found[index])
            return
        rows = self.stacked(found, type_of(operand).element, node).rows
        if isinstance(index, int):
            self.define(node, torch.select(rows, 0, index))
        else:
            self.define(node, torch.index_select(rows, 0, operators.position(index, rows.size(0))).squeeze(0))

    def _list_set(self, node, operand, index, item):
        element = node.outputs[0].type.element
        found, index, item = self.value(operand), self.value(index), self.converted(item, element)
        if not isinstance(found, Stacked) and isinstance(index, int):
            self.checked_index(found, index, node)
            found = list(found)
            found[index] = item
            self.define(node, found)
            return
        rows = self.stacked(found, element, node).rows
        item = item if isinstance(item, torch.Tensor) else numbers.as_tensor(item, element)
        row = item.expand(rows.shape[1:]).unsqueeze(0)
        self.define(node, Stacked(torch.index_copy(rows, 0, operators.position(index, rows.size(0)), row)))

    def _list_slice(self, node, operand, *bounds):
        found = self.items(operand, node)
        bounds = [None if bound is None else self.known(bound, node, "a bound of a slice") for bound in bounds]
        self.define(node, found[slice(*bounds)])

    def _list_concat(self, node, left, right):
        self.define(node, [*self.items(left, node), *self.items(right, node)])

    def _list_append(self, node, operand, item):
        self.define(node, [*self.items(operand, node), self.converted(item, node.outputs[0].type.element)])

    def _list_insert(self, node, operand, index, item):
        found = self.items(operand, node)
        found.insert(self.known(index, node, "an index"), self.converted(item, node.outputs[0].type.element))
        self.define(node, found)

    def _list_pop(self, node, operand, index):
        found, index = self.items(operand, node), self.known(index, node, "an index of `pop`")
        self.checked_index(found, index, node)
        item = found.pop(index)
        self.define(node, found, item)

    def items(self, operand, node):
        """The elements of a list, as a new Python list."""
        found = self.value(operand)
        if not isinstance(found, Stacked):
            return list(found)
        if not isinstance(found.rows.size(0), int):
            refuse("the length of a list is known only when the program runs", self.format, node.span)
        return list(torch.unbind(found.rows))

    def known(self, operand, node, what):
        value = self.value(operand)
        if not isinstance(value, int):
            refuse(f"{what} is known only when the program runs", self.format, node.span)
        return value

    def checked_index(self, found, index, node):
        if not -len(found) <= index < len(found):
            refuse("an index is out of range", self.format, node.span)

    def stacked(self, found, element, node):
        """A list as the rows of a tensor."""
        rows = found if isinstance(found, Stacked) else self.rows(found, element)
        if rows is None:
            refuse("an index of a list whose elements have different shapes is known only when the program runs", self.format, node.span)
        return rows

    def rows(self, found, element):
        """A list as the rows of a tensor; None if its elements are no numbers and no tensors of one shape."""
        if element in (BOOL, INT, FLOAT):
            found = [numbers.as_tensor(item, element) for item in found]
        elif not isinstance(element, Tensor):
            return None
        if not found or any(item.shape != found[0].shape or item.dtype != found[0].dtype for item in found):
            return None
        return Stacked(torch.stack(found))
