"""`while`: in Python as long as the condition is Python's; from the round on where it is staged, in the graph."""

from ..staging import current, is_staged
from . import specs
from .carry import Carry, first_round
from .regions import condition, variables


def while_stmt(test, body, get_state, set_state, symbol_names, opts):
    while True:
        going = _going(test)
        if is_staged(going):
            return _staged(current(), test, body, get_state, set_state, symbol_names)
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


def _staged(staging, test, body, get_state, set_state, names, peeled=False):
    names, get_state, set_state = variables(names, get_state, set_state)
    init = get_state()
    carry = Carry(staging, names, init)
    try:
        block = carry.trace(body, get_state, set_state)
    except specs.Unsettled as unsettled:
        set_state(init)
        if peeled:
            raise
        first_round(staging, condition(staging, test(), "the loop"), unsettled)
        body()
        return _staged(staging, test, body, get_state, set_state, names, peeled=True)
    set_state(init)
    tested = carry.test(test, get_state, set_state)
    set_state(init)
    if tested is None:
        tested = _always(staging, carry)
    outputs = staging.emit("while", carry.operands(), carry.types, [tested, block.region])
    carry.leave(outputs, set_state)
    return None


def _always(staging, carry):
    with staging.record.new_region() as region:
        carry.install(region)
        region.results = [True]
    return region
