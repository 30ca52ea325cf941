"""`for`: in Python, or one loop of the graph.

What only the graph knows the length of is a loop of the graph. Python's own `range` and the rows of a tensor are one
too when there are many rounds, provided that the body can do with an index that Python does not know; else they are
unrolled, as any other iterable is.
"""

import torch

from ..capture import scalars
from ..capture.staging import current, is_staged
from ..conversion import spans
from ..errors import StagingError
from . import ranges, specs
from .builtins import max_, min_
from .carry import Carry, first_round
from .if_exp import and_
from .if_stmt import staged_if
from .regions import condition, variables

#: Up to so many rounds a loop of known length is unrolled.
UNROLLED = 16


def for_stmt(iter_, extra_test, body, get_state, set_state, symbol_names, opts):
    staging = current()
    if staging is not None:
        over = _in_graph(staging, iter_, body)
        if over is not None:
            must = _must_stage(over)
            most = opts.get("maximum_iterations") if must else None
            if _staged(staging, over, must, extra_test, body, get_state, set_state, symbol_names, most):
                return None
            staging.unrolled.add(body.__code__)
            if not isinstance(iter_, range):
                iter_ = _elements(over)
    _in_python(iter_, extra_test, body, get_state, set_state, symbol_names)
    return None


def _in_graph(staging, iter_, body):
    if ranges.is_staged_iterable(iter_) or isinstance(iter_, torch.Tensor):
        over = ranges.iterable(iter_)
        return over
    if type(iter_) is range and len(iter_) > UNROLLED and body.__code__ not in staging.unrolled:
        return ranges.Range(iter_.start, iter_.stop, iter_.step)
    return None


def _must_stage(over):
    return any(is_staged(bound) for bound in over.bounds())


def _elements(over):
    start, stop, step = over.bounds()
    return (over.at(i) for i in range(start, stop, step))


def _staged(staging, over, must, extra_test, body, get_state, set_state, names, most, start=None):
    """Records the loop, of so many rounds at most. False if it has to be unrolled instead."""
    first, stop, step = over.bounds()
    if most is not None:
        stop = min_(stop, first + most * step) if step > 0 else max_(stop, first + most * step)
    peeled, start = start is not None, first if start is None else start
    if not must and (len(range(start, stop, step)) <= UNROLLED or body.__code__ in staging.unrolled):
        return False
    names, get_state, set_state = variables(names, get_state, set_state)
    init = get_state()
    mark = len(staging.record.region.nodes), dict(staging.record.region.memo)
    carry = Carry(staging, names, init)
    try:
        staging.objects.block(body)
        block = carry.trace(lambda i: body(over.at(i)), get_state, set_state, ("int",))
        if any(items in carry.cells for items in ranges.lists_of(over)):
            raise StagingError("a staged loop changes the list that it goes over", spans.current())
        if not must and not _worth(block.region):
            raise StagingError("nothing in it is for the graph")
    except specs.Unsettled as unsettled:
        set_state(init)
        if peeled:
            raise
        _rewind(staging, mark)
        going = start < stop if type(step) is int and step > 0 else start > stop
        if extra_test is not None:
            going = and_(lambda: going, extra_test)
        first_round(staging, going if isinstance(going, bool) else condition(staging, going, "the loop"), unsettled)
        body(over.at(start))
        return _staged(staging, over, must, extra_test, body, get_state, set_state, names, most, start + step)
    except (StagingError, TypeError, IndexError, KeyError, ValueError, RuntimeError):
        set_state(init)
        if must:
            raise
        _rewind(staging, mark)
        return False
    set_state(init)
    loops = [block.region]
    if extra_test is not None:
        test = carry.test(extra_test, get_state, set_state)
        set_state(init)
        if test is not None:
            loops.append(test)
    bounds = [scalars.lower(staging, bound) for bound in (start, stop, step)]
    outputs = staging.emit("for", [*bounds, *carry.operands()], carry.types, loops)
    carry.leave(outputs, set_state)
    return True


def _rewind(staging, mark):
    """Takes back what was recorded here since the mark."""
    del staging.record.region.nodes[mark[0] :]
    staging.record.region.memo = mark[1]


def _worth(region):
    """Whether a loop computes with tensors: numbers alone are Python's affair."""
    return any(
        node.op.startswith("aten.") or node.op == "gradient" or any(map(_worth, node.regions)) for node in region.nodes
    )


def _in_python(iter_, extra_test, body, get_state, set_state, names):
    if extra_test is None:
        for target in iter_:
            body(target)
        return
    going = extra_test()
    if not is_staged(going) and not going:
        return
    for target in iter_:
        if is_staged(going):
            _guarded(current(), going, lambda target=target: body(target), get_state, set_state, names)
        else:
            body(target)
        going = extra_test()
        if not is_staged(going) and not going:
            break


def _guarded(staging, going, body, get_state, set_state, names):
    """A round that takes place unless an earlier one left the loop."""
    staged_if(staging, condition(staging, going, "the loop"), body, lambda: None, get_state, set_state, names)

