"""`while`: runs in Python until the condition is staged; the remaining iterations become a loop of the graph. With
`set_loop_options(maximum_iterations=n)` that loop is a `for` over `n` iterations with a condition."""

from ..capture import profile, scalars
from ..capture.staging import current, is_condition
from ..conversion import spans
from ..record.ops import FOR, WHILE
from ..record.types import INT
from . import outcomes, specs
from .carry import Carry, require_first_iteration
from .regions import condition, decided_on_error, variables


def while_stmt(test, body, get_state, set_state, symbol_names, opts):
    staging, execution, count = current(), profile.execution("while"), 0
    while True:
        continues = _continues(staging, test, execution, count)
        if is_condition(continues):
            limit = opts.get("maximum_iterations")
            with decided_on_error(staging):
                return _staged(staging, test, body, get_state, set_state, symbol_names, limit)
        if not continues:
            break
        body()
        count += 1
    if execution is not None:
        execution.report(count)
    return None


def _continues(staging, test, execution, count):
    """Returns the loop condition after `count` iterations. It is a staged boolean, unless its value is decided for the
    arguments of this call or assumed from profiled calls."""
    if staging is not None and spans.current() in staging.decisions:
        return _decided(staging, test)
    if execution is None or execution.expected is None:
        return _condition(test)
    continues = test()
    if not is_condition(continues):
        return continues
    return outcomes.assumed(execution, condition(staging, continues, "the loop"), count < execution.expected)


def _decided(staging, test):
    """Returns the value of the condition for the arguments of this call, or the staged condition if the value is unknown."""
    continues = test()
    answer = staging.decided(condition(staging, continues, "the loop")) if is_condition(continues) else None
    return continues if answer is None else answer


def _condition(test):
    """Evaluates the condition. If it is staged, its nodes are removed: the loop records the condition itself."""
    staging = current()
    if staging is None:
        return test()
    region = staging.record.region
    mark = region.mark()
    continues = test()
    if is_condition(continues):
        region.rewind(mark)
    return continues


def _staged(staging, test, body, get_state, set_state, names, limit, peeled=False):
    names, get_state, set_state = variables(names, get_state, set_state)
    init = get_state()
    carry = Carry(staging, names, init)
    try:
        with staging.attempt():
            block = carry.trace(lambda *index: body(), get_state, set_state, () if limit is None else (INT,))
    except specs.Unstable as unstable:
        set_state(init)
        if peeled:
            raise
        require_first_iteration(staging, condition(staging, test(), "the loop"), unstable)
        body()
        limit = None if limit is None else limit - 1
        return _staged(staging, test, body, get_state, set_state, names, limit, peeled=True)
    set_state(init)
    test_region = carry.test(test, get_state, set_state)
    set_state(init)
    if limit is not None:
        bounds = [0, scalars.lower(staging, limit), 1]
        regions = [block.region] if test_region is None else [block.region, test_region]
        outputs = staging.emit(FOR, [*bounds, *carry.operands()], carry.types, regions)
    else:
        outputs = staging.emit(
            WHILE, carry.operands(), carry.types, [test_region or _always(staging, carry), block.region]
        )
    carry.leave(outputs, set_state)
    return None


def _always(staging, carry):
    """Returns the region of a loop condition that is always true."""
    with staging.record.new_region() as region:
        carry.install(region)
        region.results = [True]
    return region
