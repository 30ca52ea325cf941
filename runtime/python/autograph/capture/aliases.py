"""Views and in-place writes. The graph has neither: its values are immutable.

Every storage has one *base*: the current value of the tensor that was created with the storage. A view is a base and a
chain of view operations. An in-place write inverts the chain to compute a new value of the base. When a view is read
after a write, it is computed again from the new value. The bases that a region changes become results of the region; a
*journal* records their values before the region.

A list of the graph contains values, which do not change with a tensor. So a tensor that a list *holds* must not be
changed in place.
"""

import weakref

import torch

from ..conversion import spans
from ..errors import StagingError
from ..record.ops import OVERWRITTEN
from ..record.types import is_differentiable
from .places import Contents

_DETACH = torch.ops.aten.detach.default


HELD = "this changes a tensor that a list of the graph holds; append a copy to the list: `.clone()`"

DETACHED = (
    "a tensor from `detach()` is changed in place by values that have a gradient, and read after another change or through "
    "a view: its gradient would be lost\nhelp: copy it: `.detach().clone()`"
)


ABANDONED = (
    "this changes memory that a tensor from outside had before its `.data` was assigned\nhelp: copy it before the assignment: "
    "`.clone()`"
)


class Base:
    """A storage. `source` is the capture of a tensor from outside the graph; None for a storage that the graph creates."""

    __slots__ = ("value", "version", "depth", "fake", "source", "is_recorded", "was_leaf", "views", "__weakref__")

    def __init__(self, value, fake, depth, source=None):
        self.views = None  # the views with a chain, as a weak set; None without such views
        self.value = value
        self.version = 0
        self.fake = fake
        self.depth = depth
        self.source = source
        self.was_leaf = False  # whether a tensor from outside requires a gradient when the function is called
        self.is_recorded = False  # whether torch's autograd would have recorded an in-place write


class View:
    """A tensor: its base and the chain of view operations. `value` is its value at the time when the base had the
    version `version`.

    A view can be a leaf: `y = x.detach().requires_grad_()`. Such a leaf shares memory with its base, but has its own
    gradient, like a base. `depth` is the depth of the region that made the view a leaf."""

    __slots__ = ("base", "chain", "value", "version", "depth", "__weakref__")
    source = None
    was_leaf = False

    def __init__(self, base, chain, value):
        self.base = base
        self.chain = chain
        self.value = value
        self.version = base.version
        if chain:
            if base.views is None:
                base.views = weakref.WeakSet()
            base.views.add(self)

    def is_same_view(self, other):
        return self.base is other.base and self.chain == other.chain


class Step:
    """One view operation: its operator, the arguments after the tensor, the type and sizes of its operand, and whether
    autograd records it. For `detach`, `own_history` is the span of a write that gave the detached tensor a history that
    its base does not have."""

    __slots__ = ("op", "rest", "type", "sizes", "is_recorded", "own_history")

    def __init__(self, op, rest, type, sizes):
        self.op = op
        self.rest = tuple(rest)
        self.type = type
        self.sizes = sizes
        self.is_recorded = torch.is_grad_enabled()
        self.own_history = None

    def __eq__(self, other):
        return self.op == other.op and _plain(self.rest) == _plain(other.rest)

    __hash__ = None


def _plain(rest):
    return [list(x) if isinstance(x, (list, tuple)) else x for x in rest]


class Aliases:
    """The current values of all tensors of one trace."""

    def __init__(self, staging):
        self.staging = staging
        self.journals = []
        self.held = weakref.WeakSet()
        self.copied = weakref.WeakKeyDictionary()  # base -> `CopiedItem` mark: its tensor is an item at a staged index, or its copy
        self.merged = weakref.WeakKeyDictionary()  # base -> `Merged` marks: variables share its tensor on some paths
        self.abandoned = weakref.WeakSet()  # bases for the memory that tensors from outside had before `.data` was assigned
        self.shared = {}  # base whose `.data` was assigned -> weak reference to the view that has the same memory

    # Values.

    def read(self, view):
        """Returns the current value of a tensor."""
        base = view.base
        if not view.chain:
            return base.value
        if view.version != base.version or not view.value.visible:
            for step in view.chain:
                if step.own_history is not None:
                    raise StagingError(DETACHED, step.own_history or None)
            view.value, view.version = self._along(view)[-1], base.version
            if view in self.staging.leaf_views:
                self.staging.made_leaves.append(view.value)
        return view.value

    def _along(self, view):
        """Returns the values along the chain of a view: the value of the base, and the value after each step. The grad mode at
        the creation of the view, not at this read, determines whether a step has a history."""
        values, mode = [view.base.value], torch.is_grad_enabled()
        try:
            for index, step in enumerate(view.chain):
                after = view.chain[index + 1].type if index + 1 < len(view.chain) else view.value.type
                torch._C._set_grad_enabled(step.is_recorded)
                values.append(self.staging.emit_view(step, values[-1], after))
        finally:
            torch._C._set_grad_enabled(mode)
        return values

    def write(self, view, value):
        """Changes a tensor in place, and with it every view of the same storage."""
        if view.base in self.held:
            if view.base in self.copied:
                self.copied[view.base].refuse_change(self.staging)
            raise StagingError(HELD, spans.current())
        if view.base in self.abandoned:
            raise StagingError(ABANDONED, spans.current())
        for mark in self.merged.get(view.base, ()):
            mark.refuse_change(view.base)
        own = self._own_history(view, value)
        if view.chain:
            operands = self._along(view)[:-1]
            for step, operand in zip(reversed(view.chain), reversed(operands)):
                value = self.staging.emit_inverse(step, operand, value)
        if not torch.is_grad_enabled() or any(step.op is _DETACH for step in view.chain):
            value = self._overwritten(view.base.value, value)
        else:
            view.base.is_recorded = True
        self.set_base(view.base, value)
        if own is not None:
            view.value, view.version = own, view.base.version
        if self.shared:
            self._share(view.base)

    def _share(self, written):
        """After a write to a base, also writes the value to the tensors that share its memory because of an assignment to
        `.data`."""
        for base, reference in list(self.shared.items()):
            source = reference()
            if source is None or written not in (base, source.base):
                continue
            if written is not base:
                self.set_base(base, self._overwritten(base.value, self.read(source)))
                continue
            del self.shared[base]  # so that the write below does not call `_share` for this pair again
            with torch.no_grad():
                self.write(source, base.value)
            self.shared[base] = reference

    def separate(self, base):
        """Called before a base gets other memory. Moves its views to a new base, which keeps the current value."""
        self.shared.pop(base, None)
        views = [view for view in base.views or ()]
        if not views:
            return
        other = Base(base.value, base.fake, base.depth)
        other.version, other.views, base.views = base.version, base.views, None
        for view in views:
            view.base = other
        if base.source is not None:
            self.abandoned.add(other)

    def _own_history(self, view, value):
        """Returns the written value if the tensor is detached and the value has a history (`y = x.detach(); y += w`);
        otherwise None. The tensor keeps this value until its memory changes again."""
        detached = [step for step in view.chain if step.op is _DETACH]
        if not detached or not torch.is_grad_enabled() or not is_differentiable(value.type.dtype):
            return None
        if not self.staging.may_have_history(value):
            return None
        detached[-1].own_history = spans.current() or ()
        return value if view.chain[-1] is detached[-1] else None

    def _overwritten(self, before, after):
        """Returns the result of a write that autograd does not record: the value changes, but not the derivative."""
        if not is_differentiable(after.type.dtype):
            return after
        return self.staging.emit(OVERWRITTEN, [before, after], [after.type])[0]

    def set_base(self, base, value):
        for journal in self.journals:
            if journal.depth > base.depth:
                journal.note(base)
        base.value = value
        base.version += 1

    def hold(self, tensor):
        """Marks a tensor as an element of a list of the graph."""
        self.held.add(self.staging.view_of(tensor).base)

    # Regions.

    def open_journal(self, depth, is_selection=False):
        """Begins a region. `is_selection`: its code only selects a value, so it cannot change Python objects."""
        journal = Journal(depth, self, is_selection)
        self.journals.append(journal)
        return journal

    def close_journal(self, journal):
        """Restores the state from before the region. Returns the cells that the region has changed, with their new states.
        `journal.held` then contains the bases that lists hold at the end of the region."""
        assert self.journals.pop() is journal
        journal.held, self.held = self.held, journal.held
        return journal.restore()


class Journal:
    """The cells that a region changes and that existed before it, with their states before the region."""

    def __init__(self, depth, aliases, is_selection):
        self.depth = depth
        self.held = weakref.WeakSet(aliases.held)
        self.before = {}
        self.objects = aliases.staging.objects
        self.python = None if is_selection else self.objects.snapshot()
        self.gradients = aliases.staging.gradients
        self.grads = self.gradients.snapshot()
        self.uses = aliases.staging.uses
        self.used = self.uses.snapshot()

    def note(self, cell):
        if cell not in self.before:
            self.before[cell] = cell_state(cell)

    def restore(self):
        changed = {}
        if self.python is not None:
            self.before.update(self.objects.changed(self.python))
        self.before.update(self.gradients.changed(self.grads, self.depth))
        self.before.update(self.uses.changed(self.used))
        for cell, state in self.before.items():
            changed[cell] = cell_state(cell)
            if isinstance(cell, Contents):
                self.objects.restore(cell, state)
            else:
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
