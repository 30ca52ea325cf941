"""`if`: runs in Python unless the condition is staged. A staged `if` traces both branches and merges their states."""

from ..capture import profile
from ..capture.aliases import cell_state
from ..capture.places import MAPPINGS, SEQUENCES, ClosureVariable
from ..capture.staging import current, is_condition
from ..conversion import spans
from ..errors import StagingError, Unreachable
from ..record.ops import IF
from . import outcomes, recursion, regions, sharing, specs
from .values import List, build, lower, spec_of


def if_stmt(cond, body, orelse, get_state, set_state, symbol_names, nouts):
    execution = profile.execution("if")
    if not is_condition(cond):
        return body() if outcomes.is_true(execution, cond) else orelse()
    staging = current()
    flag = outcomes.assumed(execution, regions.condition(staging, cond, "`if`"))
    return staged_if(staging, flag, body, orelse, get_state, set_state, symbol_names, nouts)


def staged_if(staging, flag, body, orelse, get_state, set_state, names, outputs=None, is_selection=False):
    """Stages an `if`. Only the first `outputs` variables are live after the statement. `is_selection`: the branches only select a
    value."""
    if not isinstance(flag, bool) and spans.current() in staging.decisions:
        answer = staging.decided(flag)
        flag = flag if answer is None else answer
    if isinstance(flag, bool):
        return body() if flag else orelse()
    with regions.decided_on_error(staging):
        _record(staging, flag, body, orelse, get_state, set_state, names, outputs, is_selection)
    return None


def _record(staging, flag, body, orelse, get_state, set_state, names, outputs, is_selection):
    if outputs is None:
        outputs = len(names)
    read = set(names[:outputs])
    closure = regions.closure_of(get_state)
    names, get_state, set_state = regions.variables(names, get_state, set_state)
    init = get_state()
    born = staging.objects.heap.clock, next(List.numbers)
    branches = body, orelse
    blocks = []
    for branch in branches:
        set_state(init)  # the next block must not record this as a change
        blocks.append(regions.trace(staging, branch, get_state, set_state, init, is_selection=is_selection))
    for block in blocks:
        staging.aliases.held.update(block.held)
    set_state(init)
    _complete(blocks, [closure.get(name) for name in names])
    merged = [
        _merge(staging, index, name, blocks, init[index]) if name in read else specs.Constant(init[index])
        for index, name in enumerate(names)
    ]
    cells = _cells(staging, blocks)
    slots = _slots(staging, names, init, merged, cells, blocks)
    shared = sharing.groups(staging, slots, born)
    types = [type for spec in [*merged, *cells.values()] for type in spec.types]
    for block in blocks:
        with regions.at_end(staging, block):
            results = _results(staging, block, merged, cells, types)
            if not block.is_dead:
                results = [specs.or_placeholder(staging, operand, type) for operand, type in zip(results, types)]
            block.region.results = results
    outputs = staging.emit(IF, [flag], types, [block.region for block in blocks])
    staging.sizes.note_branches(flag, outputs, [block.region.results for block in blocks])
    values = iter(outputs)
    if all(block.is_dead for block in blocks):
        raise Unreachable
    built = tuple(build(staging, spec, values) for spec in merged)
    set_state(built)
    for cell, spec in cells.items():
        regions.store_cell(staging, cell, spec, values)
    if shared:
        assigned = [value for value, spec in zip(built, merged) if not isinstance(spec, specs.Constant)]
        sharing.mark(staging, shared, [*assigned, *map(sharing.assigned, cells)])


def _complete(blocks, variables):
    """Adds the states of closure variables that only another block is known to change. The trace of a later block can find
    that a function reads a variable: `k` in `if c: k = 1`, `else: f()`. `variables` contains the closure cells of the
    variables; None for attributes and items."""
    cells = {cell for block in blocks for cell in block.changed if isinstance(cell, ClosureVariable)}
    for block in (block for block in blocks if not block.is_dead):
        values = {id(variable): value for variable, value in zip(variables, block.values)}
        for cell in cells:
            block.changed.setdefault(cell, values.get(id(cell.cell), cell.state()))


def _merge(staging, index, name, blocks, init):
    """Returns the spec of a variable after the branches."""
    live = [block for block in blocks if not block.is_dead]
    if all(regions.same_object(block.values[index], init) for block in live):
        return specs.Constant(init)
    first = live[0].values[index] if len(live) > 1 else None
    if isinstance(first, (*SEQUENCES, *MAPPINGS)) and all(block.values[index] is first for block in live):
        return specs.Constant(first)  # both branches have this container, so it existed before the statement
    found = []
    for block in live:
        with regions.at_end(staging, block):
            found.append(spec_of(staging, block.values[index]))
    if len(found) == 1:
        return found[0]
    # A variable that is a number on one path and a tensor on the other becomes a tensor. The result of a call must not, because
    # the caller sees its type: `return total.item()` and `return total`.
    is_result = name.startswith("retval_") and recursion.is_outermost(staging)
    if specs.promotes(*found) or (specs.changes_kind if is_result else specs.changes_number)(*found):
        regions.restart_decided(staging)
    return specs.checked_merge(name, *found, "in the branches")


def _slots(staging, names, init, merged, cells, blocks):
    """Returns the variables and places whose values the statement merges."""
    live = [block for block in blocks if not block.is_dead]
    slots = [
        sharing.variable(name, init[index], [block.values[index] for block in live])
        for index, (name, spec) in enumerate(zip(names, merged))
        if not isinstance(spec, specs.Constant)
    ]
    return slots + [sharing.place(staging, cell, [_state(block, cell) for block in live]) for cell in cells]


def _cells(staging, blocks):
    """Returns the cells that a branch changes in place, each with its spec after the branches."""
    cells = {}
    for block in blocks:
        for cell in block.changed:
            if cell in cells:
                continue
            found = []
            live = [(other, _state(other, cell)) for other in blocks if not other.is_dead]
            kept = regions.kept_items(cell, cell_state(cell), [state for _, state in live])
            for other, state in live:
                with regions.at_end(staging, other):
                    found.append(regions.cell_spec(staging, cell, state, kept))
            if not found:
                continue
            try:
                is_converted = len(found) == 2 and specs.changes_kind(*found) and staging.objects.is_existing(cell)
                if is_converted or len(found) == 2 and specs.promotes(*found):
                    regions.restart_decided(staging)
                if is_converted and not staging.depth:
                    raise _different_kinds(cell)
                if len(found) == 2 and _appends(staging, cell, *found):
                    regions.restart_decided(staging, cell)
                cells[cell] = found[0] if len(found) == 1 else specs.merge(*found)
            except specs.Mismatch as mismatch:
                raise StagingError(
                    f"the branches assign different kinds to {regions.description(cell)}: {mismatch}", spans.current()
                ) from None
    return cells


def _different_kinds(cell):
    """Returns the error for a place to which the branches assign numbers of different kinds, or a number and a
    tensor."""
    what = f"to {regions.description(cell)} numbers of different kinds, or a number and a tensor"
    return StagingError(f"the branches assign {what}\nhelp: assign values of one kind, also before the call", spans.current())


def _appends(staging, cell, body, orelse):
    """Returns whether a branch appends to a list from outside whose items the code does not read, as in
    `if loss < best: history.append(loss)`. A graph that contained the list would be specialized to its items, so each call
    would need another graph."""
    is_outer = isinstance(cell, List) and cell.is_outer and cell.value is None
    if not is_outer or not isinstance(body, specs.Tree) or not isinstance(orelse, specs.Tree):
        return False
    return len(body.children) != len(orelse.children) and staging.objects.only_grows(cell)


def _state(block, cell):
    return block.changed[cell] if cell in block.changed else cell_state(cell)


def _results(staging, block, merged, cells, types):
    if block.is_dead:  # never evaluated; only the types matter
        return [specs.unused(type) for type in types]
    results = []
    for value, spec in zip(block.values, merged):
        results.extend(lower(staging, value, spec))
    for cell, spec in cells.items():
        results.extend(regions.lower_cell(staging, cell, _state(block, cell), spec))
    return results
