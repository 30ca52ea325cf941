"""The guards of a trace in the form in which Rust checks them: `StateGuards` of `python/src/state_guards.rs`."""

import collections

from .._runtime import StateGuards
from ..capture.places import MISSING, Snapshot, same_items, same_items_but
from .guards import equal, form_of


def compiled(trace):
    """Returns the `StateGuards` of a trace. If they hold, `Trace.broken` finds no violated guard."""
    guards = trace.guards
    checks = [_slot(scope, name, value) for scope, name, value, _ in guards.slots]
    checks += [_value(place, value) for place, value in guards.values]
    checks += [_form(place, form) for place, form in guards.shapes]
    checks += [("none of", place, sorted(guards.changed)) for place in guards.others]
    checks += [_called(same_items, *guard) for guard in guards.large]
    checks += [_called(same_items_but, *guard) for guard in guards.partly]
    checks += [("tensor", place, tensor) for place, tensor, _ in guards.tensors]
    checks += [("same", one, other) for one, other in guards.same]
    checks += [("class", place, kind) for place, kind in guards.numbers]
    checks += [("requires_grad", tensor, flag) for tensor, flag in guards.leaves]
    checks += [("gradient", tensor, is_none) for tensor, is_none in trace.gradient_guards]
    checks += [("gradient of", place, is_none) for place, is_none in trace.placed_gradients]
    checks += [_hooks(hooks.capture, hooks.exist) for hooks in trace.hooks]
    inputs = [_input(trace, position, *source) for position, source in enumerate(trace.sources)]
    return StateGuards(MISSING, checks, inputs, guards.dict_guards, guards.absent)


def _called(check, *arguments):
    return "python", lambda: check(*arguments)


def _slot(scope, name, value):
    if type(scope) is not dict or value is MISSING:
        return _called(lambda: (now := scope.get(name, MISSING)) is value or equal(now, value))
    return "slot", scope, name, value


def _value(place, value):
    if value is MISSING:
        return "missing", place
    if isinstance(value, Snapshot):
        return _called(lambda: equal(place.state(), value))
    return "value", place, value


def _form(place, form):
    kind, extent = form
    # Rust would not see `move_to_end`.
    if issubclass(kind, collections.OrderedDict) and len(extent) > 1:
        return _called(lambda: form_of(place.state()) == form)
    return "form", place, kind, extent


def _hooks(capture, exist):
    return ("hooks", capture.tensor, exist) if capture.place is None else ("hooks of", capture.place, exist)


def _input(trace, position, index, capture):
    """Returns the source of an input: an argument, its gradient, or a value from outside."""
    if position in trace.gradient_inputs:
        return "gradient", index
    if index is not None:
        return "leaf", index
    return ("held", capture.tensor) if capture.place is None else ("place", capture.place)
