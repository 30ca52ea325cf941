"""The state that a staged loop carries from round to round.

It is found by tracing: the first guess is that every number and tensor that the loop assigns changes, and all else
stays as it is. When a round shows otherwise, the guess is corrected and the body traced again, until a round leaves
what it was given. Tensors and lists that are changed in place are carried too, though no variable of the loop holds
them.
"""

import torch

from ..capture import scalars
from ..capture.aliases import HELD, Base, cell_state
from ..capture.staging import is_staged_tensor
from ..capture.unbound import Maybe
from ..conversion import spans
from ..errors import StagingError
from . import regions, specs
from .values import build, lower, spec_of

#: Each correction widens a type; a state that still changes after so many is reported.
ATTEMPTS = 24


class Carry:
    def __init__(self, staging, names, init):
        self.staging = staging
        self.names = names
        self.init = init
        self.specs = [self._guess(name, value) for name, value in zip(names, init)]
        self.settled = set()  # variables that turned out to stay as they are
        self.cells = {}

    def _guess(self, name, value):
        simple = name.isidentifier()
        if is_staged_tensor(value) or isinstance(value, torch.Tensor):
            return spec_of(self.staging, value) if simple else specs.Constant(value)
        if scalars.kind_of(value) is not None or isinstance(value, Maybe):
            return specs.staged(spec_of(self.staging, value))
        if isinstance(value, (tuple, list)) and simple and type(value).__name__ != "List":
            return spec_of(self.staging, value)
        return specs.Constant(value)

    # Tracing.

    def install(self, region, values=None):
        """The state at the start of a round, from parameters of the region."""
        staging = self.staging
        self.params = [[region.param(type) for type in spec.types] for spec in self.specs]
        for name, params in zip(self.names, self.params):
            for param in params:
                param.name = name if name.isidentifier() else ""
        self.cell_params = {cell: [region.param(type) for type in spec.types] for cell, spec in self.cells.items()}
        for cell, spec in self.cells.items():
            regions.store_cell(staging, cell, spec, iter(self.cell_params[cell]))
        self.given = tuple(
            build(staging, spec, iter(params)) for spec, params in zip(self.specs, self.params)
        )
        return self.given

    def trace(self, body, get_state, set_state, first=()):
        """A round whose end fits its start; `first` are the types of the parameters before the state."""
        self.staging.objects.block(body)
        for _ in range(ATTEMPTS):
            heads = []

            def install(region, values, heads=heads):
                heads.extend(region.param(type) for type in first)
                return self.install(region)

            def a_round(heads=heads):
                body(*map(self.staging.wrap, heads))

            block = regions.trace(self.staging, a_round, get_state, set_state, None, install)
            if block.dead:
                self._pass_through(block, heads)
                return block
            if self._settle(block):
                self._finish(block, heads)
                self._hold(block)
                return block
        raise StagingError("the state of this loop changes its kind in every round", spans.current())

    def _settle(self, block):
        """Corrects the guess by what the round did; whether it was right."""
        outside = {cell: regions.cell_spec(self.staging, cell, cell_state(cell)) for cell in block.changed}
        starts = [self._start(spec) for spec in self.specs]
        with regions.at_end(self.staging, block):
            right = [self._settle_variable(block, index, start) for index, start in enumerate(starts)]
            return self._settle_cells(block, outside) and all(right)

    def _start(self, spec):
        """What a variable is at the start of a round, where a list is not yet changed by it."""
        is_object = isinstance(spec, specs.Constant) and not specs.is_absent(spec.value)
        return spec_of(self.staging, spec.value) if is_object else spec

    def _settle_variable(self, block, index, start):
        spec, after = self.specs[index], block.values[index]
        is_constant = isinstance(spec, specs.Constant)
        if is_constant and (regions.same_object(after, spec.value) or specs.same(after, spec.value)):
            return True
        if not is_constant and index not in self.settled and self._unchanged(index, after):
            self.settled.add(index)
            self.specs[index] = specs.Constant(self.init[index])
            return False
        was_absent = is_constant and specs.is_absent(spec.value)
        after = spec_of(self.staging, after)
        merged = specs.checked_merge(
            self.names[index], start, after, "before and after a round of the loop", specs.Unsettled
        )
        if merged == spec:
            return True
        self.specs[index] = merged
        if was_absent and isinstance(merged, specs.Optional):
            # It was not read before it was assigned: the round is right as it is.
            self.params[index] = [block.region.param(type) for type in merged.types]
            return True
        return False

    def _unchanged(self, index, after):
        """Whether a round leaves a variable as it was given."""
        given = self.given[index]
        if is_staged_tensor(given):
            return regions.same_object(after, given)
        if scalars.is_staged(given):
            return scalars.is_staged(after) and getattr(after.node, "value", 0) is given.node.value
        return False

    def _settle_cells(self, block, outside):
        right = True
        for cell, state in block.changed.items():
            before = self.cells.get(cell)
            after = regions.cell_spec(self.staging, cell, state)
            if before is None:
                before, right = outside[cell], False
            try:
                merged = specs.merge(before, after)
            except specs.Mismatch as mismatch:
                message = f"this loop changes {regions.called(cell)}: {mismatch}"
                raise specs.Unsettled(message, spans.current()) from None
            if merged != before:
                right = False
            self.cells[cell] = merged
        return right

    def _finish(self, block, heads):
        staging, region = self.staging, block.region
        with regions.at_end(staging, block):
            results = []
            for value, spec in zip(block.values, self.specs):
                results.extend(lower(staging, value, spec))
            for cell, spec in self.cells.items():
                state = block.changed[cell] if cell in block.changed else None
                if state is None:
                    results.extend(self.cell_params[cell])
                else:
                    results.extend(regions.lower_cell(staging, cell, state, spec))
            results = [specs.present(staging, operand, type) for operand, type in zip(results, self.types)]
        region.results = results
        region.params = [*heads, *self._ordered()]

    def _hold(self, block):
        """What a list holds since one round, the next one must not change."""
        self.staging.aliases.held.update(block.held)
        if any(cell in block.held for cell in self.cells if isinstance(cell, Base)):
            raise StagingError(HELD, spans.current())

    def _pass_through(self, block, heads):
        """Every round raises: what it would leave is never seen."""
        block.region.results = self._ordered()
        block.region.params = [*heads, *self._ordered()]

    def _ordered(self):
        params = [param for params in self.params for param in params]
        return params + [param for params in self.cell_params.values() for param in params]

    # Around the loop.

    def test(self, test, get_state, set_state):
        """The region that answers whether there is another round; None when Python knows that there is."""
        answer = None

        def body():
            nonlocal answer
            answer = test()
            if not isinstance(answer, bool):
                answer = regions.condition(self.staging, answer, "the loop")

        block = regions.trace(self.staging, body, tuple, set_state, None, lambda region, _: self.install(region))
        if answer is True:
            return None
        block.region.results = [False if block.dead else answer]
        block.region.params = self._ordered()
        return block.region

    def operands(self):
        """The state before the loop."""
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
        """The state after the loop."""
        values = iter(outputs)
        set_state(tuple(build(self.staging, spec, values) for spec in self.specs))
        for cell, spec in self.cells.items():
            regions.store_cell(self.staging, cell, spec, values)


def first_round(staging, going, unsettled):
    """A loop whose state only has its kind after a round (`best = None`) has its first round before it. The graph
    raises if there is none."""
    message = f"a staged loop needs a first round here: {unsettled.message}"
    if going is not True:
        staging.emit("assert", [going, message], [])
