"""Gradients inside of staged code: `torch.autograd.grad` and `Tensor.backward` become a transformation of the graph."""

import re

import torch

from . import _runtime
from .capture import schemas, spans
from .capture.record import ListType, Value, parse_type
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
            message = "a gradient can be taken of a number only: this output has more elements"
            raise StagingError(message, spans.current())
    seeds = [seed if seed is None else staging.value_of(seed) for seed in seeds]
    used = _used(staging, values, wanted) if allow_unused or materialize_grads else [True] * len(wanted)
    asked = [value for value, needed in zip(wanted, used) if needed]
    types = [value.type for value in asked]
    extra = create_graph, allow_unused or materialize_grads
    made = iter(staging.emit("gradient", [values, seeds, asked], types, extra=extra) if asked else [])
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
            staging.gradients.add(staging.view_of(leaf).base, new)


def has_history(staging, tensor):
    """Whether a tensor comes from one that requires a gradient."""
    leaves = [base.value for base in staging.leaves if base.value.visible]
    leaves += [staging.aliases.read(view) for view in list(staging.leaf_views) if view.base.value.visible]
    return bool(leaves) and any(_used(staging, [staging.value_of(tensor)], leaves))


def _tuple(value):
    return (value,) if isinstance(value, torch.Tensor) else tuple(value)


def _used(staging, outputs, inputs):
    """Which of the inputs the outputs depend on."""
    needed = set(outputs)
    region = staging.record.region
    while region is not None:
        for node in reversed(region.nodes):
            if any(output in needed for output in node.outputs) and not _ends_here(node):
                _add_operands(node, needed)
        region = region.parent
    return [value in needed for value in inputs]


def _ends_here(node):
    """Whether no gradient passes through a node."""
    return node.op == "aten.detach.default" or not node.grad and node.op.startswith("aten.")


def _add_operands(node, needed):
    _add(node.args[:1] if node.op == "overwritten" else node.args, needed)
    called = node.extra.region if node.op == "call" else None
    if called is not None and called not in needed:
        needed.add(called)
        _add(called.results, needed)
        for inner in reversed(called.nodes):
            _add_operands(inner, needed)
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
    create_graph, allow_unused = node.extra
    found = lowering.differentiated(outputs, seeds, inputs, formula, node.span, create_graph)
    for value, input, output in zip(found, inputs, node.outputs):
        if value is None and allow_unused:
            value = _zeros(lowering, input, output.type)
        elif value is None:
            raise StagingError(
                "one of the tensors a gradient is taken for was not used to compute the output", node.span
            )
        lowering.values[output] = value


def _zeros(lowering, input, type):
    args = [input, None, None, None, None, None]
    return lowering.graph.emit("aten.zeros_like.default", args, [str(type)])[0]


def formula(op, args, types, results):
    """Torch's own derivative of an operator that the runtime has no rule for: a graph of its tensors and of the
    gradients of its results. The operator runs on tensors without data, and what torch's autograd does then is
    recorded. None if it has no derivative in torch either."""
    fixed = set()  # tensors that the operator has no derivative by
    while True:
        try:
            return _captured(op, args, types, results, fixed)
        except RuntimeError as error:
            index = _not_differentiable(op, args, str(error))
            if index is None or index in fixed:
                raise
            fixed.add(index)


def _not_differentiable(op, args, message):
    """The tensor that torch refuses to differentiate by, told by its name in the schema."""
    found = re.search(r"not differentiable with respect to argument '(\w+)'", message)
    if found is None:
        return None
    index = 0
    for arg, (name, _, _) in zip(args, schemas.arguments(_operator(op))):
        if name == found[1]:
            return index
        index += _count(arg)
    return None


def _count(arg):
    return sum(map(_count, arg)) if isinstance(arg, list) else isinstance(arg, _runtime.Value)


def _captured(op, args, types, results, fixed):
    from .capture import lower, views
    from .capture.tensors import Recorder, contiguous
    from .staging import Staging, staging_of

    staging = Staging("formula")
    staging.keeps_detach = False
    entry = staging.record.entry
    params = [entry.param(parse_type(text)) for text in types]
    seeds = [entry.param(_result_type(text)) for text in results]
    with staging_of(staging), Recorder(staging), torch.enable_grad():
        tensors = [staging.fresh(param) for param in params]
        for index, tensor in enumerate(tensors):
            has_derivative = tensor.is_floating_point() or tensor.is_complex()
            tensor.requires_grad_(has_derivative and index not in fixed)
        remaining = iter(tensors)
        outputs = _called(op, [_filled(arg, remaining) for arg in args])
        if len(seeds) == 1 and isinstance(seeds[0].type, ListType):
            types = [views.result_type(output) for output in outputs]
            seeds = [staging.emit("list.get", [seeds[0], i], [type])[0] for i, type in enumerate(types)]
        followed = [
            # Torch's code would make them so where its kernels need it, but for the stand-ins it sees no need.
            (output, contiguous(staging, staging.fresh(seed)))
            for output, seed in zip(outputs, seeds)
            if output.requires_grad and (output.is_floating_point() or output.is_complex())
        ]
        wanted = [tensor for tensor in tensors if tensor.requires_grad]
        if not followed or not wanted:
            return None
        found = iter(
            torch.autograd.grad(
                [output for output, _ in followed], wanted, [seed for _, seed in followed], allow_unused=True
            )
        )
        gradients = [next(found) if tensor.requires_grad else None for tensor in tensors]
        operands = [None if gradient is None else staging.value_of(gradient) for gradient in gradients]
    return lower.plain_graph(staging, operands)


def _result_type(text):
    return ListType(parse_type(text[5:-1])) if text.startswith("list[") else parse_type(text)


def _filled(arg, tensors):
    """The arguments of an operator with tensors in the place of values."""
    if isinstance(arg, list):
        return [_filled(element, tensors) for element in arg]
    return next(tensors) if isinstance(arg, _runtime.Value) else arg


def _operator(op):
    namespace, name, overload = op.split(".")
    return getattr(getattr(getattr(torch.ops, namespace), name), overload)


def _called(op, args):
    func = _operator(op)
    positional, named = [], {}
    for arg, (name, _, only_named) in zip(args, schemas.arguments(func)):
        if only_named:
            named[name] = arg
        else:
            positional.append(arg)
    made = func(*positional, **named)
    return [t for t in (made if isinstance(made, (tuple, list)) else (made,)) if isinstance(t, torch.Tensor)]


__all__ = ["grad", "backward", "formula"]
