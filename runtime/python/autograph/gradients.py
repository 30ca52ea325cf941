"""Gradients inside of staged code: `torch.autograd.grad` and `Tensor.backward` become a transformation of the graph."""

import torch

from .capture import spans
from .capture.record import TensorType, Value
from .errors import StagingError


def grad(
    staging, outputs, inputs, grad_outputs=None, allow_unused=None, materialize_grads=False, create_graph=False
):
    """The gradients of the outputs, as tensors of the record; None for an input they do not depend on."""
    outputs, inputs = _tuple(outputs), _tuple(inputs)
    seeds = _tuple(grad_outputs) if grad_outputs is not None else (None,) * len(outputs)
    values = [staging.value_of(output) for output in outputs]
    wanted = [staging.value_of(tensor) for tensor in inputs]
    for value, seed in zip(values, seeds):
        if seed is None and any(n != 1 for n in value.type.dims):
            raise StagingError("a gradient can be taken of a number only: this output has more elements", spans.current())
    seeds = [seed if seed is None else staging.value_of(seed) for seed in seeds]
    used = _used(staging, values, wanted) if allow_unused or materialize_grads else [True] * len(wanted)
    asked = [value for value, needed in zip(wanted, used) if needed]
    types = [value.type for value in asked]
    made = iter(staging.emit("gradient", [values, seeds, asked], types, extra=create_graph) if asked else [])
    results = []
    for tensor, needed in zip(inputs, used):
        if needed:
            results.append(staging.fresh(next(made)))
        else:
            results.append(torch.zeros_like(tensor) if materialize_grads else None)
    return tuple(results)


def backward(staging, tensor, gradient=None, inputs=None):
    """Adds the gradients to `.grad` of the tensors that require one."""
    if inputs is None:
        value = staging.value_of(tensor)
        bases = [base for base in list(staging.leaves) if base.value.visible]
        used = _used(staging, [value], [base.value for base in bases])
        leaves = [staging.tensor_at(base) for base, needed in zip(bases, used) if needed]
    else:
        leaves = list(_tuple(inputs))
    if not leaves:
        raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")
    found = grad(staging, (tensor,), leaves, None if gradient is None else (gradient,))
    with torch.no_grad():
        for leaf, new in zip(leaves, found):
            before = staging.gradient_of(leaf)
            staging.set_gradient(leaf, new if before is None else before + new)


def _tuple(value):
    return (value,) if isinstance(value, torch.Tensor) else tuple(value)


def _used(staging, outputs, inputs):
    """Which of the inputs the outputs depend on."""
    needed = set(outputs)
    region = staging.record.region
    while region is not None:
        for node in reversed(region.nodes):
            if any(output in needed for output in node.outputs) and node.grad and node.op != "aten.detach.default":
                _add_operands(node, needed)
        region = region.parent
    return [value in needed for value in inputs]


def _add_operands(node, needed):
    _add(node.args, needed)
    for region in node.regions:
        _add(region.results, needed)
        for inner in reversed(region.nodes):
            _add_operands(inner, needed)


def _add(operand, needed):
    if isinstance(operand, Value):
        needed.add(operand)
    elif isinstance(operand, list):
        for element in operand:
            _add(element, needed)


def lowered(lowering, node):
    """Asks the runtime for the gradient, at this place of its graph."""
    outputs, seeds, inputs = (lowering.operand(arg) for arg in node.args)
    found = lowering.graph.gradient(outputs, seeds, inputs, formula, node.span, node.extra)
    for value, output in zip(found, node.outputs):
        if value is None:
            raise StagingError(
                "one of the tensors a gradient is taken for was not used to compute the output", node.span
            )
        lowering.values[output] = value


def formula(op, args, types):
    """Torch's own derivative of an operator that the runtime has no rule for."""
    raise StagingError(f"there is no derivative of {op}")


__all__ = ["grad", "backward", "TensorType"]
