"""The operators that Inductor may compile: those whose compiled code behaves as libtorch for all data.

These operators are excluded, by their schemas and tags:

- random operators: Inductor draws other random numbers;
- operators whose shapes depend on data, such as `nonzero`;
- operators that may read integers as indices: where libtorch raises an `IndexError`, compiled code may end the process;
- divisions, remainders, powers and shifts of integers: compiled code raises no errors, and a division by zero ends the process;
- products of matrices and other operators that Inductor calls from libtorch too;
- operators on complex numbers, and operators that take or return anything but tensors and constants.
"""

from functools import lru_cache

import torch

from ..graph import Tensor, values

_aten = torch.ops.aten
_CHECKED_FOR_INTEGERS = {
    _aten.div, _aten.floor_divide, _aten.remainder, _aten.fmod, _aten.pow, _aten.bitwise_left_shift, _aten.bitwise_right_shift,
    _aten.__lshift__, _aten.__rshift__, _aten.gcd, _aten.lcm,
}  # fmt: skip
_TAGS_LEFT_OUT = (
    torch.Tag.nondeterministic_seeded, torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape,
    torch.Tag.inplace_view,
)  # fmt: skip
#: Operators that may return a view, although their schemas do not declare it.
_MAYBE_VIEWS = {_aten.reshape, _aten.contiguous}
#: Operators that address the memory of a tensor regardless of its sizes, and operators whose results are uninitialized.
_OF_MEMORY = {_aten.as_strided, _aten.as_strided_copy, _aten.as_strided_scatter, _aten.empty, _aten.empty_like, _aten.empty_strided}
#: Products, convolutions and other operators for which Inductor calls libtorch. The plan has faster kernels for some.
_CALLED = {
    _aten.mm, _aten.addmm, _aten.bmm, _aten.baddbmm, _aten.addbmm, _aten.mv, _aten.addmv, _aten.dot, _aten.vdot, _aten.matmul,
    _aten.linear, _aten.convolution, _aten.convolution_backward, _aten._scaled_dot_product_flash_attention_for_cpu,
    _aten._scaled_dot_product_flash_attention_for_cpu_backward, _aten.sort, _aten.topk, _aten.cumprod, _aten.logcumsumexp,
}  # fmt: skip
#: Operators that may have integer operands, besides elementwise ones. They do not use the integers as indices.
_OF_ANY_DTYPE = {
    _aten.sum, _aten.prod, _aten.amax, _aten.amin, _aten.max, _aten.min, _aten.argmax, _aten.argmin, _aten.any, _aten.all,
    _aten.cumsum, _aten.cat, _aten.stack, _aten.constant_pad_nd, _aten.flip, _aten.zeros_like, _aten.ones_like, _aten.full_like,
    _aten._to_copy, _aten.to, _aten.clone, _aten.lift_fresh_copy, _aten.scalar_tensor, _aten.where,
}  # fmt: skip


def overload(name):
    """Returns the operator of ATen with this name in a graph, such as `aten.add.Tensor`; None for other operations."""
    namespace, _, rest = name.partition(".")
    packet, _, name = rest.rpartition(".")
    return getattr(getattr(_aten, packet), name) if namespace == "aten" else None


def is_eligible(node):
    """Returns whether Inductor may compile a node."""
    operator = overload(node.op)
    if operator is None or not _is_possible(operator):
        return False
    types = [value.type for operand in node.operands for value in values(operand)]
    results = [output.type for output in node.outputs]
    if not results or not all(isinstance(type, Tensor) and type.shape is not None for type in types + results):
        return False
    if any(type.dtype.is_complex for type in types + results):
        return False
    if not any(is_integer(type) for type in types):
        return True
    packet = operator.overloadpacket
    if packet in _CHECKED_FOR_INTEGERS:
        return packet is _aten.div and not is_integer(results[0])
    return torch.Tag.pointwise in operator.tags or packet in _OF_ANY_DTYPE or is_view(node)


def is_view(node):
    """Returns whether the result of a node may be a view of its first operand."""
    operator = overload(node.op)
    return operator is not None and (operator.overloadpacket in _MAYBE_VIEWS or operator.is_view)


def is_integer(type):
    return isinstance(type, Tensor) and not (type.dtype.is_floating_point or type.dtype.is_complex)


@lru_cache(maxsize=None)
def _is_possible(operator):
    if operator._schema.is_mutable or operator.overloadpacket in _OF_MEMORY | _CALLED:
        return False
    return not any(tag in operator.tags for tag in _TAGS_LEFT_OUT)
