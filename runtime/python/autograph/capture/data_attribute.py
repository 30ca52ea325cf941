"""Assignments to `.data`: `p.data = p.data - rate * p.grad` gives a tensor the memory of another one.

In a trace, the base of the tensor gets the value of the other tensor. Views of its old memory keep their values. While
the other tensor exists, a write to either tensor changes both. A run assigns `.data` of a tensor from outside."""

import weakref

import torch

from ..conversion import spans
from ..errors import StagingError

_REMEDY = "help: copy the values instead: `with torch.no_grad(): x.copy_(y)`"


def assign(staging, tensor, other):
    """Implements `tensor.data = other`."""
    view, source = staging.view_of(tensor), staging.view_of(other)
    base, value = view.base, staging.value_of(other, is_use=False)
    if view.chain:
        raise StagingError(f"`.data` of a view cannot be assigned in staged code\n{_REMEDY}", spans.current())
    if value.type != base.value.type:
        message = "`.data` cannot be assigned a tensor of another shape, dtype or device in staged code"
        raise StagingError(f"{message}\nhelp: assign it outside of the staged function", spans.current())
    if staging.depth > base.depth:
        message = "`.data` of a tensor cannot be assigned below a staged condition or in a loop of the graph"
        raise StagingError(f"{message}\n{_REMEDY}", spans.current())
    if source.base is base:
        return
    staging.aliases.separate(base)
    with torch.no_grad():
        staging.aliases.write(view, value)
    staging.aliases.shared[base] = weakref.ref(source)


def shares_with(staging, base):
    """Returns the capture of the tensor from outside whose memory was assigned to `base.data`; None if no such memory
    was assigned."""
    source = staging.aliases.shared[base]()
    return None if source is None or source.chain else source.base.source
