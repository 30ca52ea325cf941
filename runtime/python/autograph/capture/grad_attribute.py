"""The `.grad` attribute while tracing. The `.grad` of a tensor from outside the graph is assigned after a run."""

from . import scalars
from .places import MISSING
from .unbound import Maybe


class Gradient:
    """The `.grad` of one tensor, as a cell that a region may change. If `.grad` is None, the state is `MISSING`."""

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
    """The place of an input of the graph: the `.grad` of a tensor from outside, of which `capture` is the capture. A run reads
    its value from before the run. For an argument, `Trace.inputs` reads it."""

    __slots__ = ("capture",)
    reads = "gradient"

    def __init__(self, capture):
        self.capture = capture

    def state(self):
        return self.capture.current_value().grad


class Gradients:
    """`values` contains the assigned gradients: a tensor, None, or a `Maybe` if there is a gradient on some paths
    only."""

    def __init__(self, staging):
        self.staging = staging
        self.values = {}  # base -> tensor, None, or Maybe
        self.cells = {}  # base -> Gradient
        self.hooks = {}  # capture of a leaf whose gradient is computed -> its hooks
        self.guards = {}  # id of a tensor from outside whose gradient was read -> (its capture, whether the gradient was None)

    def of(self, base):
        """Returns the current gradient."""
        if base in self.values:
            return self.values[base]
        outside = base.source.tensor if base.source is not None else None
        if outside is None or not (outside.is_leaf or outside.retains_grad):
            return None
        found = outside.grad
        self.guards.setdefault(id(outside), (base.source, found is None))
        if found is not None and id(found) not in self.staging.captures:
            self.staging.fake_of(found)
            self.staging.captures[id(found)].place = Outside(base.source)
        return found

    def read(self, base):
        """Returns the gradient as a Python value. If the gradient exists on some paths only, the trace assumes that it
        exists, or that it does not, as for the arguments of this call. Each run checks this. Below a staged condition
        and in a loop of the graph, this is unknown, so the trace assumes that the gradient exists."""
        found = self.of(base)
        if not _is_maybe(found):
            return found
        flag = self.staging.operand(found.flag)
        others = [self.staging.operand(other.flag) for other in self.values.values() if _is_maybe(other)]
        answer = self.staging.decided(flag, others)
        if answer is None:
            self.staging.assume(flag, "a tensor has a gradient")
        return None if answer is False else found.value

    def set(self, base, gradient):
        self.values[base] = gradient

    def add(self, base, gradient, is_reached=True):
        """Accumulates a gradient, as `backward` does. A gradient that is missing on some paths counts as zeros.
        `is_reached` is whether the output depends on the tensor on the paths that use the tensor."""
        before = self.of(base)
        used = self.staging.uses.of(base) if base.was_leaf else True
        used = self.staging.both(used, is_reached)
        if _is_maybe(before):
            used = self.staging.either(before.flag, used)
            before = before.value
        elif before is not None:
            used = True
        gradient = gradient if before is None else before + gradient
        self.set(base, Maybe(gradient, used, None) if scalars.is_staged(used) else gradient)

    # Regions.

    def snapshot(self):
        return dict(self.values)

    def changed(self, before, depth):
        """Returns the gradients that a region of this depth has assigned to tensors that existed before the region, as a map
        from their cells to the states before it. Forgets the gradients of tensors that the region has created."""
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
