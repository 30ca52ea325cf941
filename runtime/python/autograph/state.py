"""Python state that a staged function changes: what a trace takes for granted of it, and what a run does to it."""

import torch

from .capture.objects import MISSING, Items


class Change:
    """One variable, attribute or container. `value` is what the graph makes of it."""

    def __init__(self, key, place, before, value, capture):
        self.key = key
        self.place = place
        self.before = before
        self.value = value
        self.capture = capture

    def holds(self):
        """Whether the trace is right for the present state: for another number it would be another trace."""
        now = self.place.state()
        if self.capture is not None:
            return isinstance(now, torch.Tensor) and _kind(now) == _kind(self.before)
        if self.capture is None and isinstance(self.before, _Staged):
            return type(now) is self.before.type
        return now is self.before or type(now) is type(self.before) and _equal(now, self.before)

    def apply(self, value):
        self.place.restore(value)


class Growth(Change):
    """A list that was appended to: what was in it before does not matter."""

    def holds(self):
        return True

    def apply(self, value):
        self.place.container.extend(value)


class Entries(Change):
    """A dictionary of which some entries were set."""

    def holds(self):
        now = self.place.container
        return all(_equal(now.get(key, MISSING), self.before.get(key, MISSING)) for key in self.value)

    def apply(self, value):
        self.place.container.update(value)


class _Staged:
    """A number that is a parameter of the graph."""

    def __init__(self, type):
        self.type = type


def _kind(tensor):
    return tensor.dtype, tensor.shape, tensor.device


def _equal(a, b):
    if a is b:
        return True
    return type(a) is type(b) and isinstance(a, (bool, int, float, str, bytes)) and a == b


def state_of(staging, changed, new):
    """What becomes of each place, given its state before the trace and after it."""
    numbers = {capture.place: capture for capture in staging.captures.values() if capture.place is not None}
    changes = []
    for (place, before), value in zip(changed.items(), new):
        key, capture = staging.objects.key_of(place), None
        if isinstance(place, Items) and isinstance(before, list):
            if len(value) > len(before) and all(a is b for a, b in zip(before, value)):
                changes.append(Growth(key, place, before, list(value)[len(before) :], None))
                continue
        if isinstance(place, Items) and isinstance(before, dict) and set(before) <= set(value):
            entries = {k: v for k, v in value.items() if before.get(k, MISSING) is not v}
            changes.append(Entries(key, place, before, entries, None))
            continue
        if place in numbers:
            before = _Staged(type(before))
        elif isinstance(before, torch.Tensor):
            capture = staging.captures.get(id(before))
            if capture is not None and capture.path is None:
                capture.place = place
        changes.append(Change(key, place, before, value, capture))
    return changes
