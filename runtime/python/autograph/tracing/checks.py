"""Checks at the end of a trace, and the restoration of the state that it has changed."""

import torch

from ..capture.contents import share_memory
from ..capture.places import Contents
from ..errors import CheckAfterEffect, RandomStateChanged, StagingError
from ..interception import module_changes
from ..record.earlier_iterations import gradient_across
from ..record.queries import checked_late


def check_gradients(staging):
    gradient = gradient_across(staging.record.entry)
    if gradient is not None:
        message = "this gradient continues in other iterations of the loop, or before it; a graph computes it in one iteration"
        help = "detach the values that the loop carries, or compute the gradient after the loop"
        raise StagingError(f"{message}\nhelp: {help}", gradient.span)


def check_draws(staging):
    """Compares the random number generators at the end of a trace. If one has changed and the trace has regions, restarts
    the trace."""
    heap = staging.objects.heap
    if heap.compare_all() and heap.clock > 1:
        raise RandomStateChanged


def mixed(staging, changed):
    """Returns those of the changed places that are generators from which the trace has drawn both objects and numbers."""
    return [place for place in changed if isinstance(place, Contents) and id(place.object) in staging.drawn]


def check_effects(staging):
    """If the check of an assumption comes after an effect, restarts the trace without this assumption."""
    late = checked_late(staging.record.entry, staging.path.made.keys(), staging.undone)
    if late:
        raise CheckAfterEffect({staging.path.made[message] for message in late})


def raise_caught(staging):
    """Raises the first error or signal of the trace that the user's code has caught. Python would not have raised it."""
    if staging.raised:
        raise staging.raised[0]


def restore(staging, before):
    """Undoes the changes of a trace to Python state."""
    heap = staging.objects.heap
    heap.compare_all()  # a trace that ended early has not compared all entries
    for place, state in staging.objects.changed_outside(before).items():
        staging.objects.restore(place, state)
    heap.sync()
    module_changes.restore(staging)


def unrepeatable(staging, contents):
    """Returns the message for an object that a run cannot change as the trace did; None if runs can change all of them."""
    for place in contents:
        tensors = [*(capture.tensor for capture in staging.captures.values()), *staging.constants]
        tensors = [tensor for tensor in tensors if isinstance(tensor, torch.Tensor)]
        if share_memory(place.kind, place.object, tensors):
            return f"this changes {place}, which shares memory with a tensor; make the tensor with `torch.tensor`"
        if staging.objects.is_unrestorable(place):
            return unrestorable(place)
    return None


def unrestorable(place):
    """Returns the message for an object that a trace has changed, and whose state cannot be restored."""
    message = f"this changes {place} from outside the function, which cannot be repeated in each run"
    return f"{message}; take the value outside and pass it as an argument"
