"""Recursive functions of the graph: the parameters are the arguments that differ between calls.

A fixpoint iteration determines the types of parameters and results, as for the state of a loop. In the first pass a
recursive call ends its path, so the base cases determine the result type. Later passes use this type for the calls, until
a pass changes nothing. Arguments that are the same in every call (weights, tables, `self`) are free variables instead of
parameters. Outer state that the function changes is passed in and returned.
"""

import torch

from ..capture import scalars
from ..capture.aliases import cell_state
from ..capture.staging import is_staged_tensor
from ..capture.unbound import Maybe
from ..conversion import spans
from ..errors import StagingError, Unreachable
from ..record.ops import Call
from . import regions, specs
from .values import List, build, lower, spec_of
from .variables import resolve_return

#: The maximum number of passes. Each pass widens a type. More passes are an error.
MAX_PASSES = 24


class _Retry(BaseException):
    """A call needs wider parameter types than those in the current pass."""

    def __init__(self, function):
        super().__init__(function)
        self.function = function


class GraphFunction:
    """One function of the graph: the specs of its arguments, of its result and of the outer state that it changes
    (`cells`), and its traced body."""

    def __init__(self, staging, function, converted, arguments):
        self.staging = staging
        self.function = function
        self.converted = converted
        self.name = function.__name__
        self.arguments = arguments
        self.spec = _constant_spec(arguments)
        self.result = None
        self.cells = {}
        self.region = None
        self.is_open = True
        self.recursive = None  # the span of a recursive call
        self.never_returns = False

    # Calls.

    def admits(self, arguments, widened):
        """Returns whether the body of this function can call the function with these arguments. If the call needs wider
        parameter types, the pass is restarted with these types."""
        try:
            spec = self._including(self.spec, arguments, widened)
        except specs.Mismatch:
            return False
        if spec != self.spec:
            self.spec = spec
            raise _Retry(self)
        return True

    def _including(self, spec, value, widened):
        """Returns the spec, widened so that it includes another argument. Unless `widened`, a function is specialized to its
        Python values and tensor types, and an argument that differs in these raises `Mismatch`."""
        is_constant = isinstance(spec, specs.Constant)
        if is_constant and _same(spec.value, value):
            return spec
        before = spec_of(self.staging, spec.value) if is_constant else spec
        after = spec_of(self.staging, value)
        if isinstance(before, specs.Tree) and before.kind is not list:
            if not isinstance(after, specs.Tree) or before[:2] != after[:2] or len(before[2]) != len(after[2]):
                raise specs.Mismatch(f"{before} and {after}")
            items = value.values() if before.kind is dict else value
            children = tuple(self._including(child, item, widened) for child, item in zip(before.children, items))
            return specs.Tree(before.kind, before.keys, children)
        merged = specs.merge(before, after)
        is_wider = merged != before and not widened
        if is_wider or isinstance(merged, specs.Constant) or _kind(before) != _kind(after):
            raise specs.Mismatch(f"{before} and {after}")
        return merged

    def call(self, arguments):
        """Records a call with these arguments. Returns its result."""
        staging = self.staging
        if self.is_open:
            self.recursive = spans.current()
            if self.result is None:
                raise Unreachable
        operands = lower(staging, arguments, self.spec)
        for cell, spec in self.cells.items():
            operands.extend(regions.lower_cell(staging, cell, cell_state(cell), spec))
        inputs = [type for spec in (self.spec, *self.cells.values()) for type in spec.types]
        operands = [specs.or_placeholder(staging, operand, type) for operand, type in zip(operands, inputs)]
        values = iter(staging.emit(Call(self), operands, self.types))
        if self.never_returns:
            raise Unreachable
        result = build(staging, self.result, values)
        for cell, spec in self.cells.items():
            regions.store_cell(staging, cell, spec, values)
        if isinstance(result, Maybe) and staging.calls:
            return resolve_return(staging, result, self.name)
        return result

    @property
    def types(self):
        if self.never_returns:
            return []
        return [type for spec in (self.result, *self.cells.values()) for type in spec.types]

    # The body.

    def trace(self):
        """Traces the body until a pass changes no type."""
        for _ in range(MAX_PASSES):
            try:
                if self._pass():
                    self.is_open = False
                    return
            except _Retry as retry:
                if retry.function is not self:
                    raise
        raise StagingError(f"the types of the arguments and results of `{self.name}` change in every pass", self._span)

    @property
    def _span(self):
        return self.recursive or spans.current()

    def _pass(self):
        """Traces the body once. Returns whether the types have not changed."""
        staging, result, arguments, initial = self.staging, None, None, []
        self.recursive = None
        staging.objects.watch(self.function)

        def install(region, values):
            params = [region.param(type) for type in self.spec.types]
            cell_params = {cell: [region.param(t) for t in spec.types] for cell, spec in self.cells.items()}
            for cell, spec in self.cells.items():
                regions.store_cell(staging, cell, spec, iter(cell_params[cell]))
            args, keywords = build(staging, self.spec, iter(params))
            for name, value in zip(self.function.__code__.co_varnames, args):
                if is_staged_tensor(value) and value.__dict__["_ag_view"].value in params:
                    value.__dict__["_ag_view"].value.name = name
            initial.extend((leaf, _contents(leaf)) for leaf in _leaves(self.spec, (args, keywords)))
            return args, keywords

        def body():
            nonlocal result
            args, keywords = arguments
            result = self.converted(*args, **keywords)

        def begin(values):
            nonlocal arguments
            arguments = values

        block = regions.trace(staging, body, lambda: result, begin, None, install)
        self.region = block.region
        if block.is_dead:
            if self.recursive:
                message = f"`{self.name}` calls itself on every path: no branch ends the recursion"
                raise StagingError(message, self.recursive)
            self.never_returns = True
            return True
        self._check_arguments(initial)
        return self._check_results(block)

    def _check_results(self, block):
        """Merges the types of the results and of the changed state with those of the previous pass. Returns whether they
        have not changed."""
        staging = self.staging
        outside = {cell: regions.cell_spec(staging, cell, cell_state(cell)) for cell in block.changed}
        cells = dict(self.cells)
        with regions.at_end(staging, block):
            result = spec_of(staging, block.values)
            if self.recursive:
                result = self._merged("returns", self.result, specs.staged(result))
            for cell, state in block.changed.items():
                after = regions.cell_spec(staging, cell, state)
                cells[cell] = self._merged(
                    f"changes {regions.description(cell)}", cells.get(cell, outside[cell]), after
                )
            is_unchanged = cells == self.cells and (result == self.result or not self.recursive)
            self.result, self.cells = result, cells
            if not is_unchanged:
                return False
            operands = lower(staging, block.values, result)
            for cell, spec in cells.items():
                operands.extend(regions.lower_cell(staging, cell, block.changed[cell], spec))
            block.region.results = [specs.or_placeholder(staging, o, type) for o, type in zip(operands, self.types)]
            return True

    def _merged(self, what, before, after):
        try:
            if before is None or before == after:
                return after
            return specs.merge(*map(specs.returned, (before, after)))
        except specs.Mismatch as mismatch:
            raise StagingError(f"`{self.name}` {what} in different kinds: {mismatch}", self._span) from None

    def _check_arguments(self, initial):
        """Raises an error if the body changes in place an argument that differs between calls, because such an argument is
        passed by value."""
        for leaf, before in initial:
            if _contents(leaf) != before:
                what = {List: "a list", dict: "a dictionary"}.get(type(leaf), "a tensor")
                message = f"the recursive function `{self.name}` changes in place {what} that differs between calls"
                raise StagingError(message, self._span)


def _constant_spec(arguments):
    """Returns the initial spec, in which all arguments are constant."""
    args, keywords = arguments
    args = specs.Tree(tuple, None, tuple(map(specs.Constant, args)))
    keywords = specs.Tree(dict, tuple(keywords), tuple(map(specs.Constant, keywords.values())))
    return specs.Tree(tuple, None, (args, keywords))


def _kind(spec):
    """Returns the dtype or the kind of number of a spec, which widening must not change."""
    if isinstance(spec, specs.Row):
        return spec.kind
    return spec.type.dtype if isinstance(spec, specs.Tensor) else specs.number_kind(spec)


def _same(a, b):
    if scalars.is_staged(a) and scalars.is_staged(b):
        return getattr(a.node, "value", a) is getattr(b.node, "value", b)
    return regions.same_object(a, b) or specs.same(a, b)


def _leaves(spec, value):
    """Yields the tensors, lists and dictionaries in an argument that differ between calls."""
    if isinstance(spec, specs.Constant):
        return
    if isinstance(value, (torch.Tensor, List, dict)):
        yield value
    if isinstance(spec, specs.Tree):
        items = value.values() if spec.kind is dict else list.__iter__(value) if spec.kind is list else value
        for child, item in zip(spec.children, items):
            yield from _leaves(child, item)


def _contents(leaf):
    if isinstance(leaf, torch.Tensor):
        return id(leaf.__dict__["_ag_view"].base.value)
    if isinstance(leaf, dict):
        return [(key, id(value)) for key, value in leaf.items()]
    value, _, items = leaf.state()
    return id(value), [id(item) for item in items]
