"""The state that a staged loop carries from one iteration to the next.

A fixpoint iteration determines this state. At first, every number and tensor that the loop assigns is assumed to change, and
all other values to be constant. The assumption is corrected and the body is traced again until the state has the same
types at the start and at the end of an iteration. Tensors and lists that are changed in place are carried too.
"""

import torch
from torch.utils import _pytree as pytree

from ..capture import scalars
from ..capture.aliases import HELD, Base, cell_state
from ..capture.rows import StandIn
from ..capture.staging import is_staged_tensor
from ..capture.unbound import Maybe
from ..conversion import spans
from ..errors import StagingError
from . import regions, sharing, specs
from .values import List, build, lower, spec_of

#: The maximum number of corrections. Each correction widens a type. More corrections are an error.
MAX_ATTEMPTS = 24


class Carry:
    """The state that one loop carries: a spec for each variable in `names`, and for each cell (a tensor, a list or an
    attribute) that the body changes in place. `init` contains the values of the variables before the loop."""

    def __init__(self, staging, names, init):
        self.staging = staging
        self.names = names
        self.init = init
        self.specs = [self._initial_spec(name, value) for name, value in zip(names, init)]
        self.constants = set()  # indexes of variables that turned out to be constant
        self.fixed = set()  # indexes of booleans that are assumed to be constant because an earlier attempt failed
        self.cells = {}
        self.kept = {}  # cell -> the items that stay the same in every iteration (`regions.kept_items`)
        self.shared = []  # groups of containers that several places share after an iteration
        self.moved = None  # the containers and tensors at the start of the recorded iteration (`sharing.Starts`)
        self.installed = {}  # the states of cells at the start of the condition

    def _initial_spec(self, name, value):
        simple = name.isidentifier()
        if is_staged_tensor(value) or isinstance(value, torch.Tensor):
            return spec_of(self.staging, value) if simple else specs.Constant(value)
        if isinstance(value, StandIn):
            return specs.Constant(value)
        if scalars.kind_of(value) is not None or isinstance(value, Maybe):
            return specs.staged(spec_of(self.staging, value))
        if isinstance(value, (tuple, list)) and simple and type(value).__name__ != "List":
            return spec_of(self.staging, value)
        return specs.Constant(value)

    # Tracing.

    def install(self, region, values=None):
        """Sets the state at the start of an iteration from parameters of the region."""
        staging = self.staging
        self.params = [[region.param(type) for type in spec.types] for spec in self.specs]
        for name, params in zip(self.names, self.params):
            for param in params:
                param.name = name if name.isidentifier() else ""
        self.cell_params = {cell: [region.param(type) for type in spec.types] for cell, spec in self.cells.items()}
        for cell, spec in self.cells.items():
            earlier = cell_state(cell)
            regions.store_cell(staging, cell, spec, iter(self.cell_params[cell]))
            if type(earlier) is int and self.cell_params[cell]:
                staging.sizes.earlier[self.cell_params[cell][-1]] = earlier
        self.starts = tuple(build(staging, spec, iter(params)) for spec, params in zip(self.specs, self.params))
        for start, earlier in zip(pytree.tree_leaves(self.starts), pytree.tree_leaves(self.init)):
            if is_staged_tensor(start) and isinstance(earlier, torch.Tensor):
                staging.sizes.like(start, earlier)
            elif scalars.is_staged(start) and type(earlier) is int:
                staging.sizes.earlier[start.node.value] = earlier
        starts = self.starts
        self.moved = sharing.Starts(staging, self._places(starts))
        self._mark(starts)
        self.starts = tuple(None if isinstance(start, List) else start for start in starts)
        return starts

    def trace(self, body, get_state, set_state, first=()):
        """Traces the body until the state has the same types at its start and its end. `first` contains the types of the
        parameters before the state."""
        self.staging.objects.block(body)
        born = self.staging.objects.heap.clock, next(List.numbers)
        for _ in range(MAX_ATTEMPTS):
            heads = []
            set_state(self.init)  # the block must not record this as a change

            def install(region, values, heads=heads):
                heads.extend(region.param(type) for type in first)
                return self.install(region)

            def iteration(heads=heads):
                body(*map(self.staging.wrap, heads))

            try:
                with self.staging.attempt():
                    block = regions.trace(self.staging, iteration, get_state, set_state, None, install)
            except StagingError:
                if not self._fix_flags():
                    raise
                continue
            if block.is_dead:
                self._pass_through(block, heads)
                return block
            if not self._widen(block):
                self.shared = []  # groups of a state that has other cells
            elif self._marks(block, born):
                self._finish(block, heads)
                self._hold(block)
                return block
        raise StagingError("the types of this loop's state change in every iteration", spans.current())

    def _marks(self, block, born):
        """Finds the containers that several places share after an iteration. Returns whether the recorded iteration has
        marked them at its start."""
        found = sharing.groups(self.staging, self._slots(block), born, self.moved)
        known = {group.key for group in self.shared}
        new = [group for group in found if group.key not in known]
        self.shared += new
        return not new

    def _slots(self, block):
        before, after = self._carried(self.init), self._carried(block.values)
        slots = [sharing.variable(name, first, [first, last]) for name, first, last in zip(self.names, before, after)]
        places = [(cell, block.changed.get(cell, cell_state(cell))) for cell in self.cells]
        return slots + [sharing.place(self.staging, cell, [cell_state(cell), state]) for cell, state in places]

    def _mark(self, values):
        """Marks the containers that several places share, given the values of the variables."""
        if self.shared:
            sharing.mark(self.staging, self.shared, self._places(values))

    def _places(self, values):
        """Returns the values of the slots, given the values of the variables."""
        return [*self._carried(values), *map(sharing.assigned, self.cells)]

    def _carried(self, values):
        """Returns the values of all variables, with None for a constant: the index of a slot must not change when a
        spec changes."""
        return [None if isinstance(spec, specs.Constant) else value for value, spec in zip(values, self.specs)]

    def _fix_flags(self):
        """Assumes that Python booleans do not change (`is_first = False`). Returns whether this is a new assumption."""
        flags = [i for i, spec in enumerate(self.specs) if isinstance(spec, specs.Number) and type(self.init[i]) is bool]
        flags = [i for i in flags if i not in self.fixed]
        self.fixed.update(flags)
        for index in flags:
            self.specs[index] = specs.Constant(self.init[index])
        return bool(flags)

    def _widen(self, block):
        """Widens the specs to the state at the end of the iteration. Returns whether they were already correct."""
        before = {cell: cell_state(cell) for cell in block.changed}
        outside = {}
        for cell, state in before.items():
            kept = regions.kept_items(cell, state, [block.changed[cell]])
            if cell in self.kept and self.kept[cell] != kept:
                kept &= self.kept[cell]
                self.cells.pop(cell)
            self.kept[cell] = kept
            outside[cell] = regions.cell_spec(self.staging, cell, state, kept)
        starts = [self._start(spec) for spec in self.specs]
        with regions.at_end(self.staging, block):
            matches = [self._widen_variable(block, index, start) for index, start in enumerate(starts)]
            return self._widen_cells(block, outside) and all(matches)

    def _start(self, spec):
        """Returns the spec of a variable at the start of an iteration."""
        is_object = isinstance(spec, specs.Constant) and not specs.is_absent(spec.value)
        return spec_of(self.staging, spec.value) if is_object else spec

    def _widen_variable(self, block, index, start):
        """Widens the spec of a variable to the value after an iteration. Returns whether the recorded iteration is
        still valid."""
        spec, after = self.specs[index], block.values[index]
        is_constant = isinstance(spec, specs.Constant)
        if is_constant and (regions.same_object(after, spec.value) or specs.same(after, spec.value)):
            return True
        if not is_constant and index not in self.constants and self._unchanged(index, after):
            self.constants.add(index)
            self.specs[index] = specs.Constant(self.init[index])
            return False
        was_absent = is_constant and specs.is_absent(spec.value)
        after = spec_of(self.staging, after)
        merged = specs.checked_merge(
            self.names[index], start, after, "before and after an iteration of the loop", specs.Unstable
        )
        if merged == spec:
            return True
        self.specs[index] = merged
        if was_absent and isinstance(merged, specs.Optional):
            # The variable was not read before it was assigned, so the iteration is still valid.
            self.params[index] = [block.region.param(type) for type in merged.types]
            return True
        return False

    def _unchanged(self, index, after):
        """Returns whether an iteration leaves a variable unchanged."""
        start = self.starts[index]
        if is_staged_tensor(start):
            return regions.same_object(after, start)
        if scalars.is_staged(start):
            return scalars.is_staged(after) and getattr(after.node, "value", 0) is start.node.value
        return False

    def _widen_cells(self, block, outside):
        """Widens the specs of the cells, as `_widen` does for the variables. `outside` contains the specs before the
        loop."""
        is_correct = True
        for cell, state in block.changed.items():
            before = self.cells.get(cell)
            after = regions.cell_spec(self.staging, cell, state, self.kept[cell])
            if before is None:
                before, is_correct = outside[cell], False
            try:
                merged = specs.merge(before, after)
            except specs.Mismatch as mismatch:
                message = f"this loop changes the type of {regions.description(cell)}: {mismatch}"
                raise specs.Unstable(message, spans.current()) from None
            self._check_kind(cell, outside[cell], after)
            if merged != before:
                is_correct = False
            self.cells[cell] = merged
        return is_correct

    def _check_kind(self, cell, before, after):
        """Raises an error if the loop converts a number or tensor that exists before the call, as in `self.best = 0.0`,
        then `while n < x: self.best = loss`. If the caller peels the first iteration, the value may have its final kind
        before the loop."""
        is_converted = specs.changes_kind(before, after) or specs.promotes(before, after)
        if is_converted and self.staging.objects.is_existing(cell):
            message = f"this loop assigns another kind of number or tensor to {regions.description(cell)}"
            help = "give it values of one kind, also before the loop"
            raise specs.Unstable(f"{message}\nhelp: {help}", spans.current())

    def _finish(self, block, heads):
        """Sets the parameters and results of the body's region."""
        staging, region = self.staging, block.region
        with regions.at_end(staging, block):
            results = []
            for value, spec in zip(block.values, self.specs):
                results.extend(lower(staging, value, spec))
            for cell, spec in self.cells.items():
                state = block.changed.get(cell, cell_state(cell))  # unchanged means equal to the state before the loop
                results.extend(regions.lower_cell(staging, cell, state, spec))
            results = [specs.or_placeholder(staging, operand, type) for operand, type in zip(results, self.types)]
        region.results = results
        region.params = [*heads, *self._ordered()]

    def _hold(self, block):
        """Raises an error if an iteration changes a tensor that an earlier iteration may have put into a list."""
        self.staging.aliases.held.update(block.held)
        if any(cell in block.held for cell in self.cells if isinstance(cell, Base)):
            raise StagingError(HELD, spans.current())

    def _pass_through(self, block, heads):
        """Makes the region return the state unchanged. Every iteration raises, so the state after the loop is never used."""
        block.region.results = self._ordered()
        block.region.params = [*heads, *self._ordered()]

    def _ordered(self):
        params = [param for params in self.params for param in params]
        return params + [param for params in self.cell_params.values() for param in params]

    # Around the loop.

    def test(self, test, get_state, set_state):
        """Returns the region that computes the loop condition; None if the condition is always true."""
        answer = None

        def body():
            nonlocal answer
            self.installed = {cell: cell_state(cell) for cell in self.cells}
            answer = test()
            if not isinstance(answer, bool):
                answer = regions.condition(self.staging, answer, "the loop")

        block = regions.trace(self.staging, body, tuple, set_state, None, lambda region, _: self.install(region))
        if answer is True:
            return None
        before = self.installed
        changed = [cell for cell, state in block.changed.items() if not regions.same_state(state, before.get(cell))]
        if changed:
            what = regions.description(changed[0])
            raise StagingError(f"the condition of a staged loop changes {what}; change it in the body", spans.current())
        block.region.results = [False if block.is_dead else answer]
        block.region.params = self._ordered()
        return block.region

    def operands(self):
        """Returns the operands of the loop: the state before it."""
        staging, operands = self.staging, []
        for value, spec in zip(self.init, self.specs):
            operands.extend(lower(staging, value, spec))
        for cell, spec in self.cells.items():
            operands.extend(regions.lower_cell(staging, cell, cell_state(cell), spec))
        return [
            specs.placeholder(staging, type) if operand is None else operand
            for operand, type in zip(operands, self.types)
        ]

    @property
    def types(self):
        return [type for spec in [*self.specs, *self.cells.values()] for type in spec.types]

    def leave(self, outputs, set_state):
        """Sets the state after the loop, given the outputs of its node."""
        values = iter(outputs)
        built = tuple(build(self.staging, spec, values) for spec in self.specs)
        set_state(built)
        for cell, spec in self.cells.items():
            regions.store_cell(self.staging, cell, spec, values)
        self._mark(built)


def require_first_iteration(staging, condition, unstable):
    """Records the assumption that a loop has a first iteration. The caller peels this iteration, because the state has its
    final types only after it (`best = None`). If a run has no first iteration, Python runs the call."""
    if condition is not True:
        staging.assume(condition, f"the loop has a first iteration: {unstable.message}")
