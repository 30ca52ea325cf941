"""`while`: in Python as long as the condition is Python's; from the round on where it is staged, in the graph. There
`set_loop_options(maximum_iterations=n)` makes it a `for` over `n` rounds that has a condition."""

from ..capture import scalars
from ..capture.staging import current, is_staged
from . import specs
from .carry import Carry, first_round
from .regions import condition, variables


def while_stmt(test, body, get_state, set_state, symbol_names, opts):
    while True:
        going = _going(test)
        if is_staged(going):
            most = opts.get("maximum_iterations")
            return _staged(current(), test, body, get_state, set_state, symbol_names, most)
        if not going:
            return None
        body()


def _going(test):
    """The condition. What it recorded is taken back if it is staged: the loop records it itself."""
    staging = current()
    if staging is None:
        return test()
    region = staging.record.region
    nodes, memo = len(region.nodes), dict(region.memo)
    going = test()
    if is_staged(going):
        del region.nodes[nodes:]
        region.memo = memo
    return going


def _staged(staging, test, body, get_state, set_state, names, most, peeled=False):
    names, get_state, set_state = variables(names, get_state, set_state)
    init = get_state()
    carry = Carry(staging, names, init)
    try:
        block = carry.trace(lambda *round: body(), get_state, set_state, () if most is None else ("int",))
    except specs.Unsettled as unsettled:
        set_state(init)
        if peeled:
            raise
        first_round(staging, condition(staging, test(), "the loop"), unsettled)
        body()
        most = None if most is None else most - 1
        return _staged(staging, test, body, get_state, set_state, names, most, peeled=True)
    set_state(init)
    tested = carry.test(test, get_state, set_state)
    set_state(init)
    if most is not None:
        rounds = [0, scalars.lower(staging, most), 1]
        regions = [block.region] if tested is None else [block.region, tested]
        outputs = staging.emit("for", [*rounds, *carry.operands()], carry.types, regions)
    else:
        outputs = staging.emit("while", carry.operands(), carry.types, [tested or _always(staging, carry), block.region])
    carry.leave(outputs, set_state)
    return None


def _always(staging, carry):
    with staging.record.new_region() as region:
        carry.install(region)
        region.results = [True]
    return region
