"""Calls of torch's operators with numbers that are known only when the program runs.

Such a number is a tensor without dimensions, of the dtype to which torch promotes the number. An overload that takes a
Python number is replaced by one that takes a tensor (`add.Scalar` by `add.Tensor`). If torch has no such overload,
`item` converts the tensor to a number.
"""

import torch

from ..graph import BOOL, FLOAT, INT, Tensor, type_of
from . import numbers
from .structure import Stacked

aten = torch.ops.aten

#: Name of an overload -> the name of the overload that takes a tensor in place of a number.
_WITH_TENSORS = {"Scalar": "Tensor", "Tensor_Scalar": "Tensor_Tensor", "ScalarOther": "self", "ScalarSelf": "self"}
#: Operator -> the names of its arguments that have no derivative. These arguments are detached, because all results of
#: `cond` and `while_loop` require a gradient.
_CONSTANT = {aten._native_batch_norm_legit_functional.default: ("running_mean", "running_var")}
_CLAMPS = (aten.clamp.default, aten.clamp_min.default, aten.clamp_max.default)


def overload(name):
    """Returns the operator with this name in a graph: `aten.add.Tensor`."""
    namespace, rest = name.split(".", 1)
    packet, _, overload = rest.rpartition(".")
    return getattr(getattr(getattr(torch.ops, namespace), packet), overload)


def call(operator, operands, values):
    """Calls an operator on these values and returns the result."""
    types = [type_of(operand) for operand in operands]
    if isinstance(values[0] if values else None, Stacked) and operator in _OF_ROWS:
        return _OF_ROWS[operator](values[0].rows, *values[1:])
    if operator is aten.unbind.int:
        return Stacked(torch.movedim(values[0], values[1] if len(values) > 1 else 0, 0))
    unknown = [i for i, (type, value) in enumerate(zip(types, values)) if type in (BOOL, INT, FLOAT) and is_unknown(value)]
    if unknown:
        special = _SPECIAL.get(operator)
        found = special(types, values) if special is not None else None
        if found is not None:
            return found
        operator = _with_tensors(operator, unknown)
    parameters = operator._schema.arguments
    arguments = [_argument(p.type, type, value, types) for p, type, value in zip(parameters, types, values)]
    if arguments and str(parameters[0].type) == "Tensor" and numbers.is_number(arguments[0]):
        arguments[0] = promoted(arguments[0], types[0], types)  # torch.onnx does not accept a number for this parameter
    constant = _CONSTANT.get(operator, ())
    arguments = [a.detach() if p.name in constant and a is not None else a for p, a in zip(parameters, arguments)]
    keywords = {p.name: argument for p, argument in zip(parameters, arguments) if p.kwarg_only}
    return operator(*arguments[: len(arguments) - len(keywords)], **keywords)


def is_unknown(value):
    return isinstance(value, torch.Tensor)


def is_view(operator):
    """Returns whether results of an operator may share memory with its operands. This is assumed of composite operators,
    such as `sum_to_size`, whose schemas do not declare it."""
    if torch._C._dispatch_has_kernel_for_dispatch_key(operator.name(), "CompositeImplicitAutograd"):
        return True
    return any(result.alias_info is not None for result in operator._schema.returns)


def _with_tensors(operator, unknown):
    """Returns the overload that takes tensors in place of numbers; the operator itself if there is none."""
    packet = operator.overloadpacket
    name = "Tensor" if operator in _CLAMPS else _WITH_TENSORS.get(operator._overloadname)
    if name is None or name not in packet.overloads():
        return operator
    other = getattr(packet, name)
    takes = [argument.name for argument in other._schema.arguments] == [argument.name for argument in operator._schema.arguments]
    return other if takes else operator


def _argument(type, kind, value, types):
    if type.kind() == "OptionalType":
        type = type.getElementType()
    name = str(type)
    if isinstance(value, Stacked):
        return list(torch.unbind(value.rows))
    if isinstance(value, (list, tuple)):
        element = type.getElementType()
        return [_argument(element, _kind_of(item), item, types) for item in value]
    if kind not in (BOOL, INT, FLOAT):
        return value
    if name == "Tensor":
        return promoted(value, kind, types) if isinstance(value, (torch.Tensor, torch.SymInt)) else value
    if is_unknown(value):
        if name == "bool" or name == "int" and kind == BOOL:
            value = numbers.as_tensor(value, INT)
        return value.item()
    return value


def _kind_of(value):
    return {bool: BOOL, int: INT, float: FLOAT}.get(type(value))


def promoted(value, kind, types):
    """Returns a number as a tensor of the dtype to which torch promotes it in an operation with tensors of these types."""
    number = {BOOL: True, INT: 1, FLOAT: 1.0}[kind]
    types = [type for type in types if isinstance(type, Tensor)]
    tensors = [torch.empty([1] * len(type.shape or [1]), dtype=type.dtype, device="meta") for type in types]
    dtype = torch.result_type(tensors[0], number) if tensors else torch.result_type(torch.empty((), device="meta"), number)
    if isinstance(value, torch.Tensor):
        return value.to(dtype)
    return torch.scalar_tensor(value, dtype=dtype)


def position(index, size):
    """Returns a non-negative index of a dimension, as a tensor with one element."""
    index = numbers.as_tensor(index, INT)
    return torch.where(index < 0, index + size, index).reshape(1)


def _select(types, values):
    tensor, dimension, index = values
    if is_unknown(dimension):
        return None
    return torch.index_select(tensor, dimension, position(index, tensor.size(dimension))).squeeze(dimension)


def _select_scatter(types, values):
    tensor, source, dimension, index = values
    if is_unknown(dimension):
        return None
    return torch.index_copy(tensor, dimension, position(index, tensor.size(dimension)), source.unsqueeze(dimension))


def _full(types, values):
    sizes, number, *rest = values
    if not is_unknown(number):
        return None
    dtype = rest[0] if rest and rest[0] is not None else promoted(number, types[1], []).dtype
    return number.to(dtype).expand(sizes).clone()


def _full_like(types, values):
    tensor, number, *rest = values
    dtype = rest[0] if rest and rest[0] is not None else tensor.dtype
    return number.to(dtype).expand(tensor.shape).clone()


def _scalar_tensor(types, values):
    number, *rest = values
    dtype = rest[0] if rest and rest[0] is not None else torch.get_default_dtype()
    return number.to(dtype, copy=True)


def _sum_with_factor(sign):
    def result(types, values):
        tensor, other, *factor = values
        if not factor or not is_unknown(factor[0]):
            return None
        product = other * promoted(factor[0], types[2], types[1:2])
        return tensor + product if sign > 0 else tensor - product

    return result


def _stack(rows, dimension=0):
    return torch.movedim(rows, 0, dimension) if dimension else rows


def _cat(rows, dimension=0):
    dimension = dimension + rows.dim() - 1 if dimension < 0 else dimension
    return torch.movedim(rows, 0, dimension).flatten(dimension, dimension + 1)


#: Operators on a list whose elements are the rows of a tensor.
_OF_ROWS = {aten.stack.default: _stack, aten.cat.default: _cat}

_SPECIAL = {
    aten.select.int: _select, aten.select_copy.int: _select, aten.select_scatter.default: _select_scatter,
    aten.full.default: _full, aten.full_like.default: _full_like, aten.scalar_tensor.default: _scalar_tensor,
    aten.add.Tensor: _sum_with_factor(1), aten.sub.Tensor: _sum_with_factor(-1),
}  # fmt: skip
