"""Runs of a trace almost without Python: `Direct` of `python/src/direct.rs`."""

import torch

from .._runtime import Direct
from . import differentiable, released


def forms(trace):
    """Returns the forms of what a run returns, of the values of its changes of Python state, and of the gradients that it
    assigns; None if only Python can run the graph. Python must run it if a run that raises an exception cannot be repeated, or
    may contradict an assumption."""
    staging = trace.staging
    is_pure = trace.is_repeatable and not (staging.drawn or trace.enables_grad or trace.points or staging.assumptions)
    if trace.is_random and torch.cuda.is_available():  # only the generator of the CPU is restored
        return None
    is_plain = not (trace.flags or trace.changed or trace.histories or trace.assigned)
    if not (is_pure and is_plain) or trace.checks_arguments:
        return None
    result, state, gradients, _ = trace.result.forms({source: index for index, source in enumerate(trace.places)})
    return None if None in (result, state, gradients) else (result, _items(state), _items(gradients))


def _items(form):
    """Returns the forms of the items of a tuple."""
    return form if type(form) is tuple else ()


def direct(trace, leaves):
    """Returns the `Direct` for calls like that with these leaves. Returns None if only Python can run the graph."""
    if trace.forms is None:
        return None
    tensors = trace.inputs(leaves)
    needed, recorded, ended = differentiable.needed(tensors), None, None
    if needed is not None:
        if torch._C._are_functorch_transforms_active():
            return None
        recording = differentiable.recording(trace, needed)
        if differentiable.records_writes(trace, recording.flags, needed):
            return None
        if recording.released is not None:
            ended = released.with_released_history, recording.released, recording.reached
        elif recording.has_history:
            recorded = recording.recorded
            if recorded is None:
                return None
    result, state, gradients = trace.forms
    index = {source: index for index, source in enumerate(trace.places)}
    return Direct(
        trace.plan,
        len(trace.result.operands),
        result,
        writes=[index[id(capture)] for capture in trace.writes],
        gradients=[(index[id(capture)], form) for capture, form in zip(trace.gradients, gradients)],
        state=list(zip(trace.state, state)),
        needed=[isinstance(tensor, torch.Tensor) and tensor.requires_grad for tensor in tensors],
        recorded=recorded,
        released=ended,
        random=(torch.get_rng_state, torch.set_rng_state) if trace.is_random else None,
    )
