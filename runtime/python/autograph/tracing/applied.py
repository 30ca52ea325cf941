"""Applies the changes of a run: writes to tensors from outside, `requires_grad`, gradients, Python state, and containers among
the arguments."""

import torch

from .._runtime import write
from ..capture.places import Items
from ..capture.unbound import Undefined
from . import differentiable


def apply(trace, outputs, outside):
    """Applies the changes of a run with these outputs. `outside` maps the id of an object that the trace has seen outside the
    graph to the object that has its place in this call. Returns the result of the call."""
    if trace.histories:
        outputs = differentiable.with_history(outputs, trace.histories)
    count = len(trace.result.operands)
    result, states, gradients, contents = trace.result.value(outputs, outside)
    if trace.writes:
        _write_all(trace, outside, outputs[count:])
    for capture, flag in trace.flags:
        outside[id(capture)].requires_grad_(flag)
    with torch.no_grad():
        for capture, value in zip(trace.gradients, gradients):
            outside[id(capture)].grad = None if value is None or isinstance(value, Undefined) else value.detach()
    for change, value in zip(trace.state, states):
        change.apply(value)
    for container, value in zip(trace.changed, contents):
        Items(outside[id(container)]).restore(value)
    return result


def _write_all(trace, outside, values):
    """Writes the new values of tensors from outside, or assigns their `.data`."""
    if not trace.assigned:
        _write([(outside[id(capture)], value) for capture, value in zip(trace.writes, values)], trace.recorded)
        return
    rows = list(zip(trace.writes, values, trace.recorded))
    in_place = [(outside[id(capture)], value, flag) for capture, value, flag in rows if capture not in trace.assigned]
    memory = {id(capture): outside[id(capture)].detach() for capture in trace.assigned.values() if capture is not None}
    if in_place:
        _write([(tensor, value) for tensor, value, _ in in_place], [flag for *_, flag in in_place])
    for capture, value, _ in rows:
        if capture in trace.assigned:
            other = trace.assigned[capture]
            outside[id(capture)].data = value.detach() if other is None else memory[id(other)]


def _write(written, recorded):
    """Writes to tensors from outside the graph, in place. Autograd records those writes that it would record in eager
    mode."""
    for (tensor, _), is_recorded in zip(written, recorded):
        if is_recorded and tensor.requires_grad and tensor.is_leaf and torch.is_grad_enabled():
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    if not any(recorded):
        write(*map(list, zip(*written)))
        return
    # A value may be a view of a tensor that is written too: `a.copy_(b)` and then `b.add_(1)`.
    storages = {tensor.untyped_storage().data_ptr() for tensor, _ in written}
    values = [value.clone() if value.untyped_storage().data_ptr() in storages else value for _, value in written]
    for (tensor, _), value, is_recorded in zip(written, values, recorded):
        if is_recorded:
            tensor.copy_(value)
        else:
            write([tensor], [value])
