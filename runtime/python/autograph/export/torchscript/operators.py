"""Calls of torch's operators in TorchScript."""

import torch

from ..graph import BOOL, FLOAT, INT, Tensor, type_of
from .numbers import as_kind

_NUMBERS = (BOOL, INT, FLOAT)


def overload(name):
    """Returns the operator with this name in a graph: `aten.add.Tensor`."""
    namespace, rest = name.split(".", 1)
    packet, _, overload = rest.rpartition(".")
    return getattr(getattr(getattr(torch.ops, namespace), packet), overload)


def call(operator, operands, text):
    """Returns the expression for a call. `text(operand)` returns the expression for an operand."""
    schema = operator._schema
    arguments = []
    for parameter, operand in zip(schema.arguments, operands):
        written = _argument(operator, parameter.type, operand, operands, text)
        arguments.append(f"{parameter.name}={written}" if parameter.kwarg_only else written)
    namespace, name = schema.name.split("::")
    return f"torch.ops.{namespace}.{name}({', '.join(arguments)})"


def _argument(operator, type, operand, operands, text):
    kind = type_of(operand)
    if type.kind() == "OptionalType":
        type = type.getElementType()
    if isinstance(operand, list):
        return _list(type.getElementType(), operand, text)
    name = str(type)
    if kind not in _NUMBERS or name in ("Device", "str"):
        return text(operand)
    if name == "Tensor" and not _takes_numbers(operator):
        return f"torch.scalar_tensor({text(operand)}, dtype={_dtype(kind, operands)})"
    wanted = name if name in _NUMBERS else INT if kind == BOOL else kind
    return as_kind(text(operand), kind, wanted)


def _takes_numbers(operator):
    """Returns whether TorchScript has an overload of the operator that takes a number in place of a tensor."""
    packet = getattr(getattr(torch.ops, operator.namespace), operator._schema.name.split("::")[1])
    return any(name.startswith(("Scalar", "Tensor_Scalar")) for name in packet.overloads())


def _dtype(kind, operands):
    """Returns the dtype to which torch promotes a number in an operation with the tensors among the operands."""
    number = {BOOL: True, INT: 1, FLOAT: 1.0}[kind]
    tensors = [type_of(operand) for operand in operands]
    tensors = [torch.empty([1] * len(type.shape or [1]), dtype=type.dtype) for type in tensors if isinstance(type, Tensor)]
    return torch.result_type(tensors[0], number) if tensors else torch.result_type(torch.empty(()), number)


def _list(element, operand, text):
    name = str(element)
    items = [as_kind(text(item), type_of(item), name) if name in _NUMBERS else text(item) for item in operand]
    written = f"[{', '.join(items)}]"
    if name in _NUMBERS and items:
        return written
    return f"torch.jit.annotate(List[{name.replace('Tensor', 'torch.Tensor')}], {written})"


def is_view(name):
    """Returns whether results of an operator may share memory with its operands."""
    return any(result.alias_info is not None for result in overload(name)._schema.returns)
