"""Views and changes in place, for a graph that knows neither.

Every storage has one *base*: the tensor that was made with it, and its present value. A view is the base and the
chain of view operations that leads to it. A change in place makes a new value for the base, through the chain
backwards; a view that is read later is replayed from it. What a region changes becomes results of the region: the
*journal* tells which bases, and what their values were before.

A list of the graph holds values: what it shares with a tensor is lost. So a tensor that one *holds* is not changed.
"""

import weakref

import torch

from ..conversion import spans
from ..errors import StagingError
from ..record.types import is_differentiable

aten = torch.ops.aten


#: What a message says of a tensor that a list holds.
HELD = "this changes a tensor that a list of the graph holds: give the list a copy, `.clone()`"


class Base:
    """A storage. `source` tells what is outside: an argument or a captured tensor, or None."""

    __slots__ = ("value", "version", "depth", "fake", "source", "is_recorded", "__weakref__")

    def __init__(self, value, fake, depth, source=None):
        self.value = value
        self.version = 0
        self.fake = fake
        self.depth = depth
        self.source = source
        self.is_recorded = False  # whether torch's autograd would have seen a change in place


class View:
    """A tensor: its base, the way to it, and its value when the base had `version`."""

    __slots__ = ("base", "chain", "value", "version", "__weakref__")

    def __init__(self, base, chain, value):
        self.base = base
        self.chain = chain
        self.value = value
        self.version = base.version

    def same_place(self, other):
        return self.base is other.base and self.chain == other.chain


class Step:
    """One view operation, as recorded: its operator, the arguments after the tensor, the type it starts from."""

    __slots__ = ("op", "rest", "type", "sizes")

    def __init__(self, op, rest, type, sizes):
        self.op = op
        self.rest = tuple(rest)
        self.type = type
        self.sizes = sizes

    def __eq__(self, other):
        return self.op == other.op and _plain(self.rest) == _plain(other.rest)

    __hash__ = None


def _plain(rest):
    return [list(x) if isinstance(x, (list, tuple)) else x for x in rest]


class Aliases:
    """The present values of all tensors of one trace."""

    def __init__(self, staging):
        self.staging = staging
        self.journals = []
        self.held = weakref.WeakSet()

    # Values.

    def read(self, view):
        """The value of a tensor at this place of the program."""
        base = view.base
        if not view.chain:
            return base.value
        if view.version != base.version or not view.value.visible:
            view.value, view.version = self._along(view)[-1], base.version
        return view.value

    def _along(self, view):
        """The values on the way to a view: of the base, and after each step."""
        values = [view.base.value]
        for index, step in enumerate(view.chain):
            after = view.chain[index + 1].type if index + 1 < len(view.chain) else view.value.type
            values.append(self.staging.emit_view(step, values[-1], after))
        return values

    def write(self, view, value):
        """The tensor has this value from now on, and so has every view of the same storage."""
        if view.base in self.held:
            raise StagingError(HELD, spans.current())
        if view.chain:
            wholes = self._along(view)[:-1]
            for step, whole in zip(reversed(view.chain), reversed(wholes)):
                value = self.staging.emit_inverse(step, whole, value)
        if not torch.is_grad_enabled() or any(step.op is aten.detach.default for step in view.chain):
            value = self._overwritten(view.base.value, value)
        else:
            view.base.is_recorded = True
        self.set_base(view.base, value)

    def _overwritten(self, before, after):
        """What torch does not record: the tensor has another value, and the derivative that it had."""
        if not is_differentiable(after.type.dtype):
            return after
        return self.staging.emit("overwritten", [before, after], [after.type])[0]

    def set_base(self, base, value):
        for journal in self.journals:
            if journal.depth > base.depth:
                journal.note(base)
        base.value = value
        base.version += 1

    def hold(self, tensor):
        """A list of the graph has this tensor as an element."""
        self.held.add(self.staging.view_of(tensor).base)

    # Regions.

    def open_journal(self, depth):
        journal = Journal(depth, self)
        self.journals.append(journal)
        return journal

    def close_journal(self, journal):
        """What was changed, with the new values; everything is as it was before. What lists hold since is in
        `journal.held`."""
        assert self.journals.pop() is journal
        journal.held, self.held = self.held, journal.held
        return journal.restore()


class Journal:
    """What a region changed of what was there before it."""

    def __init__(self, depth, aliases):
        self.depth = depth
        self.held = weakref.WeakSet(aliases.held)
        self.before = {}
        self.objects = aliases.staging.objects
        self.python = self.objects.snapshot()
        self.gradients = aliases.staging.gradients
        self.dotgrad = self.gradients.snapshot()

    def note(self, cell):
        if cell not in self.before:
            self.before[cell] = cell_state(cell)

    def restore(self):
        changed = {}
        self.before.update(self.objects.changed(self.python))
        self.before.update(self.gradients.changed(self.dotgrad, self.depth))
        for cell, state in self.before.items():
            changed[cell] = cell_state(cell)
            set_cell_state(cell, state)
        return changed


def cell_state(cell):
    return cell.value if isinstance(cell, Base) else cell.state()


def set_cell_state(cell, state):
    if isinstance(cell, Base):
        cell.value = state
        cell.version += 1
    else:
        cell.restore(state)
