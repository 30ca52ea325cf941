"""The arguments, tensors and attributes that a graph reads or changes, with their names in an exported program."""

from dataclasses import dataclass
from typing import Any

import torch

from ..capture import grad_attribute
from ..tracing.state import Change
from . import liveness
from .refusals import refuse


@dataclass
class Input:
    """An input of the graph: its name in the exported program, its value in the graph (None if the graph does not read it),
    and its capture in the trace."""

    name: str
    value: Any
    capture: Any


class Assigned:
    """The capture of an attribute that the function assigns but does not read."""

    path, is_number = None, False

    def __init__(self, place):
        self.place = place

    def current_value(self):
        return self.place.state()


def check(trace, graph, format):
    """Raises an error for effects that no format can represent. Exported programs do not set `.grad` of tensors from
    outside: gradients that the function computes are ordinary values of the graph."""
    reasons = []
    if trace.changed:
        reasons.append("it changes a container among its arguments")
    if trace.gradient_inputs:
        refuse("it reads `.grad` of an argument", format, trace.span)
    used = liveness.inputs_read(trace, graph.entry.body)
    captured = {id(c.current_value()) for c, param in zip(trace.captures, graph.entry.params) if c.path is None and param in used}
    changed = {id(capture.current_value()) for capture in trace.gradients if capture.path is None}
    guards = [*trace.gradient_guards, *((place.state(), none) for place, none in trace.placed_gradients)]
    if any(not none and id(tensor.grad) in captured for tensor, none in guards):
        reasons.append("it adds to `.grad` of a tensor")
    if any(none and id(tensor) in changed for tensor, none in guards):
        reasons.append("it sets `.grad` of a tensor that has none; call the function once before its export")
    if trace.flags:
        reasons.append("it changes `requires_grad` of a tensor that exists outside the function")
    if any(hook.exist for hook in trace.hooks):
        reasons.append("it calls hooks of gradients")
    if reasons:
        refuse(", ".join(reasons), format, trace.span)


def inputs(trace, entry, name):
    """Returns the attributes and the parameters of the exported program, as lists of `Input`. `name(hint)` makes a name."""
    attributes, parameters = [], []
    known = _names(trace)
    for value, capture in zip(entry.params, trace.captures):
        if capture.path is not None:
            parameters.append(Input(name(capture.path), value, capture))
        else:
            place = "tensor" if capture.place is None else str(capture.place).rpartition(".")[2]
            attributes.append(Input(name(known.get(id(capture.current_value()), place)), value, capture))
    return attributes, parameters


def _names(trace):
    """Returns the names of parameters and buffers: id of the tensor -> its longest name in a module that the function uses."""
    found = {}
    for module in trace.staging.objects.kept.values():
        if isinstance(module, torch.nn.Module):
            for name, tensor in (*module.named_parameters(), *module.named_buffers()):
                found[id(tensor)] = max(name, found.get(id(tensor), ""), key=len)
    return found


def changed(trace, attributes, name, format):
    """Returns the attributes that the function assigns, as a list of `Input` in the order of their new values. Adds those that
    the graph does not read to `attributes`."""
    places = [(found.capture.place, found) for found in attributes if found.capture.place is not None]
    known = {place.key(): found for place, found in places if not isinstance(place, grad_attribute.Outside)}
    tensors = {place.key() for place, *_ in trace.guards.tensors}
    assigned = []
    for change in trace.state:
        key = change.place.key()
        if type(change) is not Change or key not in known and key not in tensors:
            message = f"it changes {change.place}, which the graph does not read as a tensor or number"
            help = "call the function twice before the export, so that a changing number becomes an input"
            refuse(f"{message}\nhelp: {help}", format, trace.span)
        if key not in known:
            known[key] = Input(name(str(change.place).rpartition(".")[2]), None, Assigned(change.place))
            attributes.append(known[key])
        assigned.append(known[key])
    return assigned
