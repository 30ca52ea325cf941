"""Programs for ONNX. ONNX has no exceptions and no state, and draws other random numbers than torch."""

import torch
from torch._decomp import decomposition_table
from torch.utils import _pytree as pytree

from .. import results
from ..exported_program import numbers, operators
from ..exported_program.program import Program
from ..graph import type_of
from ..refusals import refuse

FORMAT = "ONNX"


aten = torch.ops.aten
_DIVISIONS = {
    aten.div.Tensor_mode, aten.floor_divide.default, aten.remainder.Tensor, aten.remainder.Scalar_Tensor, aten.fmod.Tensor,
}  # fmt: skip


#: Operators that are decomposed here: the exporter of torch 2.11 writes a wrong second result, which the derivatives use.
_DECOMPOSED = (aten.nll_loss_forward.default, aten.nll_loss2d_forward.default)


class OnnxProgram(Program):
    """Writes a check as an index into a list of one element: the ONNX runtime raises an error if it is out of range.

        if x < 0: raise ValueError      x = [x][0 if not x < 0 else 1]
        y = f(x)                        y = f(x)
    """

    format = FORMAT

    def __init__(self, graph):
        super().__init__(graph)
        self.conditions = []  # the conditions of this region that no tensor depends on yet

    def check(self, condition, message):
        self.conditions.append(condition.reshape(()))

    def checked(self, tensor):
        if not self.conditions:
            return tensor
        holds = self.conditions[0]
        for condition in self.conditions[1:]:
            holds = torch.logical_and(holds, condition)
        self.conditions = []
        index = torch.where(holds, 0, 1).reshape(1)
        return torch.index_select(tensor.unsqueeze(0), 0, index).squeeze(0)

    def inside(self, names):
        return _Conditions(self, super().inside(names))

    def operator(self, node):
        if torch.Tag.nondeterministic_seeded in operators.overload(node.op).tags:
            refuse("it draws random numbers, and an ONNX runtime draws different ones", FORMAT, node.span)
        if (operator := operators.overload(node.op)) in _DECOMPOSED:
            values = map(self.value if node.grad else self.detached, node.operands)
            self.define(node, *decomposition_table[operator](*values))
            return
        if node.op == "aten.where.self":
            self.where(node, *map(self.value, node.operands))
            return
        if operators.overload(node.op) in _DIVISIONS:
            self.check_divisor(*node.operands[:2])
        super().operator(node)

    def where(self, node, condition, yes, no):
        if all(isinstance(value, torch.Tensor) for value in (yes, no)):
            self.define(node, numbers.where(condition, yes, no))
        else:
            super().operator(node)

    def check_divisor(self, operand, divisor):
        """Checks the divisor of an integer division: in onnxruntime, a division by zero ends the process."""
        value = self.value(divisor)
        if isinstance(value, torch.Tensor) and not value.dtype.is_floating_point and _is_integer(self.value(operand)):
            self.check((value != 0).all(), "division by zero")
            self.names[divisor] = self.checked(value)

    def returned(self, result, has_writes):
        """Returns the result, with numbers as tensors. Adds the remaining checks to them."""
        if has_writes:
            raise results.UnsupportedResult("it writes to a tensor or an attribute from outside, and a model has no state")
        leaves, tree = pytree.tree_flatten(result)
        if any(leaf is None for leaf in leaves):
            raise results.UnsupportedResult("it returns None")
        leaves = [leaf if isinstance(leaf, torch.Tensor) else _constant(leaf) for leaf in leaves]
        if self.conditions and not leaves:
            raise results.UnsupportedResult("it returns nothing")
        return pytree.tree_unflatten([self.checked(leaf) for leaf in leaves], tree)


class _Conditions:
    """A context for computing a region, which has its own list of conditions."""

    def __init__(self, program, region):
        self.program, self.region = program, region

    def __enter__(self):
        self.region.__enter__()
        self.before, self.program.conditions = self.program.conditions, []

    def __exit__(self, *error):
        self.program.conditions = self.before
        return self.region.__exit__(*error)


def _is_integer(value):
    return not value.dtype.is_floating_point if isinstance(value, torch.Tensor) else not isinstance(value, float)


def _constant(number):
    return numbers.as_tensor(number, type_of(number) if not isinstance(number, torch.SymInt) else "int")
