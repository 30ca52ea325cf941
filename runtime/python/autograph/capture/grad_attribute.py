"""What is in `.grad`: of tensors that a trace makes, and of those outside, which have it when the run is over."""

from .objects import MISSING
from .unbound import Maybe


class Gradient:
    """`.grad` of one tensor, as something that a region changes. No gradient is a missing state."""

    __slots__ = ("gradients", "base")

    def __init__(self, gradients, base):
        self.gradients = gradients
        self.base = base

    def state(self):
        found = self.gradients.of(self.base)
        return MISSING if found is None else found

    def restore(self, state):
        self.gradients.values[self.base] = None if state is MISSING else state

    def __str__(self):
        return "`.grad`"


class Outside:
    """Where a run finds the gradient that a tensor had before."""

    __slots__ = ("tensor",)

    def __init__(self, tensor):
        self.tensor = tensor

    def state(self):
        return self.tensor.grad


class Gradients:
    """`values` tells of the tensors whose gradient was set: a tensor, None, or what it is on some paths only."""

    def __init__(self, staging):
        self.staging = staging
        self.values = {}  # base -> tensor, None, or Maybe
        self.cells = {}  # base -> Gradient
        self.guards = {}  # tensors outside whose gradient was read, and whether there was none

    def of(self, base):
        """The gradient, as it is at this place."""
        if base in self.values:
            return self.values[base]
        outside = base.source.tensor if base.source is not None else None
        if outside is None:
            return None
        found = outside.grad
        self.guards.setdefault(id(outside), (outside, found is None))
        if found is not None and id(found) not in self.staging.captures:
            self.staging.fake_of(found)
            self.staging.captures[id(found)].place = Outside(outside)
        return found

    def read(self, base):
        """The gradient for Python, which has to know whether there is one: the graph makes sure that there is."""
        found = self.of(base)
        if _is_maybe(found):
            message = "whether a tensor has a gradient here is only known when the graph runs, and it has none"
            self.staging.emit("assert", [self.staging.operand(found.flag), message], [])
            return found.value
        return found

    def set(self, base, gradient):
        self.values[base] = gradient

    def add(self, base, gradient):
        """What `backward` does. A gradient that is not there is kept as zeros."""
        before = self.of(base)
        if _is_maybe(before):
            before = before.value
        self.set(base, gradient if before is None else before + gradient)

    # Regions.

    def snapshot(self):
        return dict(self.values)

    def changed(self, before, depth):
        """The gradients that a region of this depth has set, of what was there before it, with their state before."""
        found = {}
        for base, value in list(self.values.items()):
            if base in before and before[base] is value:
                continue
            if base.depth >= depth:
                del self.values[base]
                continue
            cell = self.cells.setdefault(base, Gradient(self, base))
            if base in before:
                state = before[base]
            else:
                del self.values[base]
                state = self.of(base)
                self.values[base] = value
            found[cell] = MISSING if state is None else state
        return found


def _is_maybe(value):
    return isinstance(value, Maybe)
