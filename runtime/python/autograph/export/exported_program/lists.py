"""Lists and tuples in a program of torch.export. The length of a Python list is known at export. `Stacked` and `Bounded`
are lists whose length may depend on the inputs."""

import torch

from ..graph import BOOL, FLOAT, INT, NONE, List, Tensor, Tuple, type_of
from ..refusals import refuse
from . import numbers, operators
from .bounded import size_of
from .structure import Bounded, Stacked


class Lists:
    """Computes the nodes for lists and tuples."""

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
        count = self.value(length)
        if not isinstance(count, int) and (element in (BOOL, INT, FLOAT) or isinstance(item, torch.Tensor)):
            row = item if isinstance(item, torch.Tensor) else numbers.as_tensor(item, element)
            size = count if isinstance(count, torch.SymInt) else size_of(count.clamp(min=0))
            self.define(node, Stacked(row.expand(size, *row.shape).clone()))
            return
        self.define(node, [item] * self.known(length, node, "the length of a list"))

    def empty(self, type):
        """Returns a placeholder of this type, for a value that nothing reads."""
        if isinstance(type, Tuple):
            return tuple(map(self.empty, type.items))
        if isinstance(type, List):
            return []
        if not isinstance(type, Tensor):
            return numbers.PYTHON[type]() if type in numbers.PYTHON else None
        shape = [0] if type.shape is None else [size if isinstance(size, int) else 0 for size in type.shape]
        return torch.zeros(shape, dtype=type.dtype, device=type.device)

    def _list_len(self, node, operand):
        found = self.value(operand)
        if isinstance(found, Bounded):
            self.define(node, found.length)
            return
        self.define(node, found.rows.size(0) if isinstance(found, Stacked) else len(found))

    def _list_get(self, node, operand, index):
        found, index = self.value(operand), self.value(index)
        if isinstance(found, Bounded):
            self.define(node, torch.index_select(found.rows, 0, self.place(found, index)).squeeze(0))
            return
        if not isinstance(found, Stacked) and isinstance(index, int):
            element = type_of(operand).element
            self.define(node, found[index] if self.has_index(found, index) else self.missing(element, node))
            return
        rows = self.stacked(found, type_of(operand).element, node).rows
        if isinstance(index, int) and isinstance(rows.size(0), int):
            self.define(node, torch.select(rows, 0, index))
        else:
            self.define(node, torch.index_select(rows, 0, operators.position(index, rows.size(0))).squeeze(0))

    def _list_set(self, node, operand, index, item):
        element = node.outputs[0].type.element
        found, index, item = self.value(operand), self.value(index), self.converted(item, element)
        if isinstance(found, Bounded):
            item = item if isinstance(item, torch.Tensor) else numbers.as_tensor(item, element)
            row = item.expand(found.rows.shape[1:]).unsqueeze(0)
            self.define(node, Bounded(torch.index_copy(found.rows, 0, self.place(found, index), row), found.length))
            return
        if not isinstance(found, Stacked) and isinstance(index, int):
            found = list(found)
            if self.has_index(found, index):
                found[index] = item
            self.define(node, found)
            return
        rows = self.stacked(found, element, node).rows
        item = item if isinstance(item, torch.Tensor) else numbers.as_tensor(item, element)
        row = item.expand(rows.shape[1:]).unsqueeze(0)
        self.define(node, Stacked(torch.index_copy(rows, 0, operators.position(index, rows.size(0)), row)))

    def _list_slice(self, node, operand, *bounds):
        if all(bound is None for bound in bounds):
            self.define(node, self.value(operand))
            return
        if self.has_unknown_length(operand) and all(bound is None or isinstance(bound, int) for bound in bounds[:2]):
            if bounds[2:] in ((), (None,), (1,)):
                self.define(node, Stacked(self.value(operand).rows[slice(*bounds[:2])]))
                return
        found = self.items(operand, node)
        bounds = [None if bound is None else self.known(bound, node, "a bound of a slice") for bound in bounds]
        self.define(node, found[slice(*bounds)])

    def _list_concat(self, node, left, right):
        if isinstance(self.value(left), Bounded):
            element, found = node.outputs[0].type.element, self.value(left)
            for item in self.items(right, node):
                found = self.appended(found, item, element)
            self.define(node, found)
            return
        if self.has_unknown_length(left) or self.has_unknown_length(right):
            lists = [self.stacked(self.value(operand), type_of(operand).element, node).rows for operand in (left, right)]
            self.define(node, Stacked(torch.cat(lists)))
        else:
            self.define(node, [*self.items(left, node), *self.items(right, node)])

    def _list_append(self, node, operand, item):
        element = node.outputs[0].type.element
        item = self.converted(item, element)
        if isinstance(self.value(operand), Bounded):
            self.define(node, self.appended(self.value(operand), item, element))
        elif self.has_unknown_length(operand):
            rows = self.value(operand).rows
            item = item if isinstance(item, torch.Tensor) else numbers.as_tensor(item, element)
            self.define(node, Stacked(torch.cat([rows, item.unsqueeze(0)])))
        else:
            self.define(node, [*self.items(operand, node), item])

    def _list_insert(self, node, operand, index, item):
        element, found = node.outputs[0].type.element, self.value(operand)
        if isinstance(found, Bounded):
            self.define(node, self.inserted(found, self.value(index), self.converted(item, element), element))
            return
        if self.has_unknown_length(operand):
            bounded = self.with_capacity(operand, element, 1)
            found = self.inserted(bounded, self.value(index), self.converted(item, element), element)
            self.define(node, Stacked(found.rows))
            return
        found = self.items(operand, node)
        found.insert(self.known(index, node, "an index"), self.converted(item, node.outputs[0].type.element))
        self.define(node, found)

    def _list_pop(self, node, operand, index):
        if isinstance(self.value(operand), Bounded):
            self.define(node, *self.popped(self.value(operand), self.value(index)))
            return
        if self.has_unknown_length(operand) and self.value(index) != -1:
            rows = self.value(operand).rows
            all_rows = Bounded(rows, torch.scalar_tensor(rows.size(0), dtype=torch.int64))
            rest, item = self.popped(all_rows, self.value(index))
            self.define(node, Stacked(rest.rows[:-1]), item)
            return
        index = self.known(index, node, "an index of `pop`")
        if self.has_unknown_length(operand) and index == -1:
            rows = self.value(operand).rows
            self.check(torch.scalar_tensor(rows.size(0), dtype=torch.int64) > 0, "pop from empty list")
            last = torch.index_select(rows, 0, operators.position(-1, rows.size(0))).squeeze(0)
            self.define(node, Stacked(rows[:-1]), last)
            return
        found = self.items(operand, node)
        item = found.pop(index) if self.has_index(found, index) else self.missing(node.outputs[1].type, node)
        self.define(node, found, item)

    def has_unknown_length(self, operand):
        """Returns whether the items of a list are the rows of a tensor, and their number is known only when the program
        runs."""
        found = self.value(operand)
        return isinstance(found, Stacked) and not isinstance(found.rows.size(0), int)

    def items(self, operand, node):
        """Returns the elements of a list, as a new Python list."""
        found = self.value(operand)
        if isinstance(found, Bounded):
            refuse("the length of a list is known only when the program runs", self.format, node.span)
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

    def has_index(self, found, index):
        """Returns whether an index of a list is in range. If it is not, adds a check to the program that always fails."""
        if -len(found) <= index < len(found):
            return True
        self.check(torch.scalar_tensor(False, dtype=torch.bool), "list index out of range")
        return False

    def missing(self, type, node):
        """Returns a placeholder for an item that does not exist. It is never read: `has_index` has added a check that fails."""
        if type not in (BOOL, INT, FLOAT) and not isinstance(type, Tensor):
            refuse("an index is out of range", self.format, node.span)
        return self.empty(type)

    def stacked(self, found, element, node):
        """Returns a list as the rows of a tensor. Elements of different shapes are an error."""
        found = self.trimmed(found)
        rows = found if isinstance(found, Stacked) else self.rows(found, element)
        if rows is None:
            reason = "an index of a list whose elements have different shapes is known only when the program runs"
            refuse(reason, self.format, node.span)
        return rows

    def rows(self, found, element):
        """Returns a list as the rows of a tensor; None if its elements are neither numbers nor tensors of one shape."""
        if element in (BOOL, INT, FLOAT):
            found = [numbers.as_tensor(item, element) for item in found]
            return Stacked(torch.stack(found) if found else torch.zeros([0], dtype=numbers.DTYPES[element]))
        if not isinstance(element, Tensor):
            return None
        if not found:
            is_known = element.shape is not None and all(isinstance(size, int) for size in element.shape)
            return Stacked(torch.zeros([0, *element.shape], dtype=element.dtype, device=element.device)) if is_known else None
        if any(item.shape != found[0].shape or item.dtype != found[0].dtype for item in found):
            return None
        return Stacked(torch.stack(found))
