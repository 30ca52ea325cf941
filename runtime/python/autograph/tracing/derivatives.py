"""Derivatives of operators for which the runtime has no rule: torch's derivatives, captured as graphs."""

import re

import torch

from .._runtime import Value
from ..capture import views
from ..capture.staging import Staging, staging_of
from ..interception import schemas
from ..interception.dispatch import Recorder, contiguous
from ..record.ops import LIST_GET
from ..record.types import ListType, is_differentiable
from .lowering import plain_graph


def derivative(outer, operator, args, types, results):
    """Returns a graph that computes the gradients of an operator's tensors from the tensors and the gradients of its
    results. The operator runs on tensors without data, and the computation of torch's autograd is recorded. Returns
    None if torch has no derivative either. If the derivative executes collectives, Python functions are added to those
    that the trace `outer` calls."""
    without_derivative = set()  # indexes of tensors
    while True:
        try:
            return _capture(outer, operator, args, types, results, without_derivative)
        except RuntimeError as error:
            index = _not_differentiable(operator, args, str(error))
            if index is None or index in without_derivative:
                raise
            without_derivative.add(index)


def _not_differentiable(operator, args, message):
    """Returns the index of the tensor with respect to which torch refuses to differentiate. Torch's message contains the
    tensor's name in the schema."""
    found = re.search(r"not differentiable with respect to argument '(\w+)'", message)
    if found is None:
        return None
    index = 0
    for arg, (name, _, _) in zip(args, schemas.arguments(operator)):
        if name == found[1]:
            return index
        index += _count(arg)
    return None


def _count(arg):
    return sum(map(_count, arg)) if isinstance(arg, list) else isinstance(arg, Value)


def _capture(outer, operator, args, types, results, without_derivative):
    staging = Staging("derivative")
    staging.keeps_detach = False
    staging.callbacks, staging.adjoints = outer.callbacks, outer.adjoints
    staging.outer = outer
    entry = staging.record.entry
    params = [entry.param(type) for type in types]
    seeds = [entry.param(type) for type in results]
    with staging_of(staging), Recorder(staging), torch.enable_grad():
        tensors = [staging.fresh(param) for param in params]
        for index, tensor in enumerate(tensors):
            tensor.requires_grad_(is_differentiable(tensor.dtype) and index not in without_derivative)
        remaining = iter(tensors)
        outputs = _call(operator, [_with_tensors(arg, remaining) for arg in args])
        if len(seeds) == 1 and isinstance(seeds[0].type, ListType):
            types = [views.result_type(output) for output in outputs]
            seeds = [staging.emit(LIST_GET, [seeds[0], i], [type])[0] for i, type in enumerate(types)]
        differentiable = [
            # Torch's derivatives call `contiguous` only where a kernel needs it. For tensors without data they omit the call.
            (output, contiguous(staging, staging.fresh(seed)))
            for output, seed in zip(outputs, seeds)
            if isinstance(output, torch.Tensor) and output.requires_grad and is_differentiable(output.dtype)
        ]
        inputs = [tensor for tensor in tensors if tensor.requires_grad]
        if not differentiable or not inputs:
            return None
        found = iter(
            torch.autograd.grad(
                [output for output, _ in differentiable],
                inputs,
                [seed for _, seed in differentiable],
                allow_unused=True,
            )
        )
        gradients = [next(found) if tensor.requires_grad else None for tensor in tensors]
        operands = [None if gradient is None else staging.value_of(gradient) for gradient in gradients]
    return plain_graph(staging, operands)


def _with_tensors(arg, tensors):
    """Returns an argument of an operator, with a tensor in place of each value."""
    if isinstance(arg, list):
        return [_with_tensors(element, tensors) for element in arg]
    return next(tensors) if isinstance(arg, Value) else arg


def _call(operator, args):
    positional, named = [], {}
    for arg, (name, _, keyword_only) in zip(args, schemas.arguments(operator)):
        if keyword_only:
            named[name] = arg
        else:
            positional.append(arg)
    result = operator(*positional, **named)
    return list(result) if isinstance(result, (tuple, list)) else [result]
