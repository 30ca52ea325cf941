"""Computes the nodes of a graph with torch's operators, while torch.export traces them."""

import torch

from ..graph import BOOL, FLOAT, INT, Tuple, Value, type_of
from ..refusals import refuse
from ..walk import Walk
from . import numbers, operators
from .control_flow import ControlFlow, first_line
from .lists import Lists
from .structure import Stacked

FORMAT = "torch.export"
_NUMBERS = (BOOL, INT, FLOAT)
_NOT_OF_EMPTY_LISTS = (torch.ops.aten.stack.default, torch.ops.aten.cat.default)


class Program(ControlFlow, Lists, Walk):
    """`names` maps each value of the graph that has been computed to its representation (`structure.py`)."""

    format = FORMAT

    def __init__(self, graph):
        super().__init__(graph)
        self.fresh = {}  # tensors that share no memory with others, by identity
        self.constant = {}  # tensors without a gradient, by identity

    # Values.

    def value(self, operand):
        if isinstance(operand, Value):
            return self.names[operand]
        return [self.value(item) for item in operand] if isinstance(operand, list) else operand

    def converted(self, operand, type):
        """Returns the value of an operand, with numbers converted to this type."""
        return _converted(self.value(operand), type_of(operand), type)

    def define(self, node, *values):
        self.names.update(zip(node.outputs, values))

    def tensor(self, operand, kind):
        """Returns the value of an operand that is a number, as a tensor."""
        return numbers.as_tensor(self.value(operand), kind)

    # Nodes.

    def scalar(self, node, name):
        values, kinds = [self.value(o) for o in node.operands], [type_of(o) for o in node.operands]
        self.define(node, numbers.result(name, values, kinds, node.outputs[0].type, self))

    def operator(self, node):
        operator = operators.overload(node.op)
        values = [self.trimmed(self.value(operand) if node.grad else self.detached(operand)) for operand in node.operands]
        if operator in _NOT_OF_EMPTY_LISTS and isinstance(values[0], Stacked) and not isinstance(values[0].rows.size(0), int):
            self.check(torch.scalar_tensor(values[0].rows.size(0), dtype=torch.int64) > 0, "the list of tensors is empty")
            values[0] = Stacked(self.checked(values[0].rows))
        try:
            found = operators.call(operator, node.operands, values)
        except Exception as error:
            refuse(f"torch.export cannot trace `{operator}`: {first_line(error)}", self.format, node.span)
        found = found if len(node.outputs) > 1 else (found,)
        if torch.Tag.nondeterministic_seeded in operator.tags:
            self.check(_is_itself(found[0]), "a random number was drawn")
        self.define(node, *found)
        for value in found:
            if isinstance(value, torch.Tensor):
                if not operators.is_view(operator):
                    self.fresh[id(value)] = value
                if not node.grad:
                    self.constant[id(value)] = value

    def detached(self, operand):
        """Returns the value of an operand, detached from its history."""
        return _detached(self.value(operand), self.constant)

    def _item(self, node, operand):
        kind = node.outputs[0].type
        value = self.value(operand)
        value = value.detach() if value.requires_grad else value
        value = value.reshape(()) if value.dim() else value
        if kind == INT and value.dtype.is_floating_point:
            self.check(torch.isfinite(value), "cannot convert a floating-point number that is not finite to an integer")
        self.define(node, numbers.as_tensor(value, kind))

    def _size(self, node, operand, dimension):
        self.define(node, self.value(operand).size(self.known(dimension, node, "the number of a dimension")))

    def _overwritten(self, node, before, after):
        found = self.value(before).clone()
        found.detach().copy_(self.detached(after))
        self.fresh[id(found)] = found
        self.define(node, found)

    def returned(self, result, has_writes):
        """Returns the result of the program, given the value that the function returns."""
        return result

    # Exceptions and effects.

    def check(self, condition, message):
        """Adds an assertion to the program."""
        torch.ops.aten._assert_async.msg(condition, message)

    def checked(self, tensor):
        """Returns the same tensor, with a dependency on the checks of this region so far if the format needs one."""
        return tensor

    def _assert(self, node, condition, *parts):
        self.check(self.tensor(condition, BOOL), message(parts) or "an assertion failed")

    def _raise(self, node, *parts):
        self.check(torch.scalar_tensor(False, dtype=torch.bool), exception(node))
        self.has_ended = True

    def _print(self, node, *parts):
        refuse("it prints", self.format, node.span)

    def message_of(self, node, operands):
        self.define(node, message(operands))


def message(parts):
    """Returns the parts of a message that are known at export."""
    return " ".join(part for part in parts if isinstance(part, str))


def exception(node):
    """Returns the class and the message of a node that raises an exception, as one text."""
    return ": ".join(text for text in (node.detail, message(node.operands)) if text)


def _is_itself(tensor):
    """Returns a boolean that is always true, but depends on the tensor. Checking it keeps random numbers that nothing uses:
    torch.export would remove them, and the random numbers after them would differ."""
    first = tensor.detach().reshape(-1)[:1]
    return torch.logical_or(torch.isnan(first), first == first).all()


def _converted(value, kind, type):
    if type in _NUMBERS and kind in _NUMBERS:
        if kind == type or isinstance(value, torch.SymInt) and type == INT:
            return value
        if isinstance(value, (torch.Tensor, torch.SymInt)):
            return numbers.as_tensor(value, type)
        return numbers.PYTHON[type](value)
    if isinstance(type, Tuple) and isinstance(kind, Tuple):
        return tuple(map(_converted, value, kind.items, type.items))
    return value


def _detached(value, constant):
    if isinstance(value, list):
        return [_detached(item, constant) for item in value]
    if isinstance(value, torch.Tensor) and value.requires_grad and id(value) not in constant:
        return value.detach()
    return value
