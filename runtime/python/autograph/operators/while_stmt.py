"""`while`: in Python as long as the condition is Python's; from the round on where it is staged, in the graph."""

from ..staging import current, is_staged
from .carry import Carry
from .if_stmt import staged_if
from .regions import variables


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


def _staged(staging, test, body, get_state, set_state, names):
    names, get_state, set_state = variables(names, get_state, set_state)
    init = get_state()
    carry = Carry(staging, names, init)
    block = carry.trace(body, get_state, set_state)
    set_state(init)
    condition = carry.test(test, get_state, set_state)
    set_state(init)
    if condition is None:
        condition = _always(staging, carry)
    outputs = staging.emit("while", carry.operands(), carry.types, [condition, block.region])
    carry.leave(outputs, set_state)


def _always(staging, carry):
    with staging.record.new_region() as region:
        carry.install(region)
        region.results = [True]
    return region


__all__ = ["while_stmt", "staged_if"]
