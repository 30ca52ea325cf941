"""Builds the return value of a staged function from the results of its graph."""

import copy
import dataclasses

import torch
from torch.utils import _pytree as pytree

from ..capture import scalars, texts
from ..capture.staging import is_staged
from ..capture.unbound import Maybe, UndefinedReturnValue
from ..errors import StagingError
from ..operators.values import List, unpacked
from ..record.nodes import Value
from ..record.queries import depend_on


def _dict_like(original, items):
    """A dictionary of the same class as another one, with other items."""
    result = copy.copy(original)
    result.clear()
    for key, value in items:
        result[key] = value
    return result


def _object_like(value, state):
    result = object.__new__(type(value))
    result.__dict__.update(state)
    return result


class Result:
    """The return value of a function: the operands that the graph returns, and a function that builds the value from
    them. Arguments and tensors from outside are returned themselves."""

    def __init__(self, staging, value, containers):
        self.operands = []
        self._leaves = []  # values of leaves that the function creates
        self._gradients = []  # operands that are their gradients
        self._arguments = {id(container.copy): id(container) for container in containers}
        self._build = self._of(staging, value)

    def value(self, values, outside):
        return self._build(values, outside)

    def _add(self, operand):
        self.operands.append(operand)
        return len(self.operands) - 1

    def _of(self, staging, value):
        argument = self._arguments.get(id(value))
        if argument is not None:
            return lambda values, outside: outside[argument]
        if isinstance(value, torch.Tensor):
            view = staging.view_of(value)
            if not view.chain and view.base.source is not None:
                source = id(view.base.source)
                return lambda values, outside: outside[source]
            if not view.chain and view.base in staging.leaves:
                return self._leaf(staging, value, view.base)
            return self._slot(staging.value_of(value))
        if scalars.is_staged(value):
            return self._slot(scalars.lower(staging, value))
        if isinstance(value, str):
            text = texts.assembled(staging, value)
            return (lambda values, outside: value) if text is value else self._slot(text)
        if isinstance(value, Maybe):
            flag = self._slot(scalars.lower(staging, value.flag))
            inner = self._of(staging, value.value)
            nothing = None if isinstance(value.absent, UndefinedReturnValue) else value.absent
            return lambda values, outside: inner(values, outside) if flag(values, outside) else nothing
        if isinstance(value, List):
            if value.value is not None:
                slot = self._slot(value.value)
                return lambda values, outside, spec=value.spec: unpacked(spec, list(slot(values, outside)))
            return self._children(staging, list, list(value))
        if type(value) in (list, tuple) or type(value).__module__ == "torch.return_types":
            return self._children(staging, type(value), value)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return self._children(staging, lambda items, kind=type(value): kind(*items), value)
        if isinstance(value, dict):
            keys = list(value)
            inner = self._children(staging, list, list(value.values()))
            return lambda values, outside: _dict_like(value, zip(keys, inner(values, outside)))
        if dataclasses.is_dataclass(value) and not isinstance(value, type) and self._holds_staged(value):
            inner = self._of(staging, vars(value))
            return lambda values, outside: _object_like(value, inner(values, outside))
        return lambda values, outside: value

    def _holds_staged(self, value):
        leaves = pytree.tree_leaves(vars(value))
        return any(is_staged(leaf) or isinstance(leaf, (torch.Tensor, List)) for leaf in leaves)

    def _leaf(self, staging, value, base):
        """A tensor that the function has created with `requires_grad=True`."""
        self._leaves.append(staging.value_of(value))
        tensor, gradient = self._slot(staging.value_of(value)), staging.gradients.values.get(base)
        if gradient is None:
            return lambda values, outside: tensor(values, outside).requires_grad_()
        first = len(self.operands)
        gradient = self._of(staging, gradient)
        self._gradients += self.operands[first:]

        def build(values, outside):
            leaf = tensor(values, outside).requires_grad_()
            leaf.grad = gradient(values, outside)
            return leaf

        return build

    def check_leaves(self, staging):
        """Torch could not lead a gradient from one result to another."""
        for leaf in self._leaves:
            known = {leaf, *self._gradients}
            others = [operand for operand in self.operands if isinstance(operand, Value) and operand not in known]
            if any(depend_on(staging.record, [leaf], others)):
                message = "a tensor that requires a gradient is created here, and returned beside values computed from it"
                help = "create it outside of the staged function"
                place = next((node.span for node in leaf.region.nodes if leaf in node.outputs), None)
                raise StagingError(f"{message}\nhelp: {help}", place)

    def _slot(self, operand):
        index = self._add(operand)
        return lambda values, outside: values[index]

    def _children(self, staging, kind, items):
        builders = [self._of(staging, item) for item in items]
        return lambda values, outside: kind([build(values, outside) for build in builders])
