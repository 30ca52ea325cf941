"""`for`: runs in Python, or becomes a loop of the graph.

A loop over an iterable of unknown length becomes a loop of the graph. A loop over a Python `range` or over the rows of
a tensor becomes one if it has many iterations and its body works with a staged index. A loop over `itertools.count()`
becomes one if only a run knows when it ends. All other loops are unrolled.
"""

import gc
import itertools
import re
import sys
from contextlib import contextmanager, nullcontext

import torch

from ..capture import contents, profile, scalars
from ..capture.staging import current, is_condition, is_staged
from ..conversion import spans
from ..errors import StagingError, Unroll
from ..record.ops import EQ, FOR, GE, Gradient, is_aten
from ..record.types import BOOL, INT
from . import outcomes, ranges, specs
from .builtins import max_, min_
from .carry import Carry, require_first_iteration
from .if_exp import and_
from .if_stmt import staged_if
from .regions import condition, decided_on_error, variables
from .values import List

#: A loop of known length with at most this many iterations is unrolled.
MAX_UNROLLED = 16


def for_stmt(iter_, extra_test, body, get_state, set_state, symbol_names, opts):
    staging, execution = current(), profile.execution("for")
    if staging is not None:
        source = _graph_iterable(staging, iter_, body)
        if source is not None:
            must_stage = _is_length_staged(source)
            if execution is not None and (must_stage or extra_test is not None):
                iter_ = _assumed(staging, source, execution)
            elif spans.current() in staging.decisions:
                iter_ = _decided(staging, source)
            else:
                limit = opts.get("maximum_iterations") if must_stage else None
                with decided_on_error(staging):
                    done = _staged(staging, source, must_stage, extra_test, body, get_state, set_state, symbol_names, limit)
                if done is None:
                    return None
                staging.unrolled.add(body.__code__)
                iter_ = itertools.islice(iter_ if isinstance(iter_, range) else _elements(source), done, None)
    with nullcontext() if staging is None else _iterated(staging, iter_):
        _in_python(iter_, extra_test, body, get_state, set_state, symbol_names, execution)
    return None


@contextmanager
def _iterated(staging, iter_):
    """Notes the lists over which a loop iterates, also by way of `enumerate`, `zip` and other iterators."""
    before, pending = staging.iterated, [iter_]
    staging.iterated = list(before)
    while pending:
        value = pending.pop()
        if isinstance(value, List):
            staging.iterated.append(value)
        elif type(value) is tuple or contents.kind_of(type(value)) is contents.ITERATORS:
            pending += gc.get_referents(value)  # `zip` holds a tuple of iterators
    try:
        yield
    finally:
        staging.iterated = before


def _graph_iterable(staging, iter_, body):
    """Returns the iterable for a loop of the graph; None if the loop is always unrolled."""
    if ranges.is_staged_iterable(iter_) or isinstance(iter_, torch.Tensor):
        return ranges.iterable(iter_)
    if type(iter_) is range and len(iter_) > MAX_UNROLLED and body.__code__ not in staging.unrolled:
        return ranges.Range(iter_.start, iter_.stop, iter_.step)
    return None


def _is_length_staged(source):
    return any(is_staged(bound) for bound in source.bounds())


def _elements(source):
    start, stop, step = source.bounds()
    return (source.at(i) for i in range(start, stop, step))


def _decided(staging, source):
    """Returns the elements for the arguments of this call."""
    bounds = [staging.decided_number(bound) for bound in source.bounds()]
    if None in bounds:
        raise StagingError("how often this loop runs is only known when the graph runs", spans.current())
    return (source.at(index) for index in range(*bounds))


def _assumed(staging, source, execution):
    """Returns the first elements, as many as the assumed number of iterations. The graph checks the number. If the loop is
    assumed to end by `break`, the iterable may have more elements."""
    start, stop, step = source.bounds()
    count, is_complete = execution.expected
    if not _is_length_staged(source):
        return _elements(source)
    length = scalars.lower(staging, source.length())
    op = EQ if is_complete else GE
    flag = staging.emit(op, [length, count], [BOOL])[0]
    staging.path.check(execution, flag, True)
    return _first(source, start, step, count, is_complete)


def _first(source, start, step, count, is_complete):
    for index in range(count):
        yield source.at(start + index * step)
    if not is_complete:
        raise StagingError("this loop runs more iterations than in the profiled calls", spans.current())


def _staged(staging, source, must_stage, extra_test, body, get_state, set_state, names, limit, start=None):
    """Records the loop, with at most `limit` iterations, and returns None. If the loop must be unrolled instead, returns
    the number of iterations that were peeled; the unrolled loop continues after them."""
    first, stop, step = source.bounds()
    if limit is not None:
        stop = min_(stop, first + limit * step) if step > 0 else max_(stop, first + limit * step)
    peeled, start = start is not None, first if start is None else start
    if not must_stage and (len(range(start, stop, step)) <= MAX_UNROLLED or body.__code__ in staging.unrolled):
        return 1 if peeled else 0
    names, get_state, set_state = variables(names, get_state, set_state)
    init = get_state()
    mark = staging.record.region.mark(), len(staging.raised)
    carry = Carry(staging, names, init)
    try:
        staging.objects.block(body)
        block = carry.trace(lambda i: body(source.at(i)), get_state, set_state, (INT,))
        if any(items in carry.cells for items in ranges.lists_of(source)):
            raise StagingError("a staged loop changes the list that it iterates over", spans.current())
        if not must_stage and not _has_tensor_operations(block.region):
            raise StagingError("the loop has no tensor operation")
    except specs.Unstable as unstable:
        set_state(init)
        if peeled:
            raise
        _rewind(staging, mark)
        continues = start < stop if type(step) is int and step > 0 else start > stop
        if extra_test is not None:
            continues = and_(lambda: continues, extra_test)
        if not isinstance(continues, bool):
            continues = condition(staging, continues, "the loop")
        require_first_iteration(staging, continues, unstable)
        body(source.at(start))
        return _staged(staging, source, must_stage, extra_test, body, get_state, set_state, names, limit, start + step)
    except (StagingError, TypeError, IndexError, KeyError, ValueError, RuntimeError):
        set_state(init)
        if must_stage:
            raise
        if staging.objects.unrestorable:
            raise Unroll(body.__code__) from None
        _rewind(staging, mark)
        return 1 if peeled else 0
    set_state(init)
    loops = [block.region]
    if extra_test is not None:
        test = carry.test(extra_test, get_state, set_state)
        set_state(init)
        if test is not None:
            loops.append(test)
    bounds = [scalars.lower(staging, bound) for bound in (start, stop, step)]
    outputs = staging.emit(FOR, [*bounds, *carry.operands()], carry.types, loops)
    carry.leave(outputs, set_state)
    return None


def _rewind(staging, mark):
    """Removes the nodes that were recorded in the current region since the mark, and the errors that were raised."""
    nodes, raised = mark
    staging.record.region.rewind(nodes)
    del staging.raised[raised:]


def _has_tensor_operations(region):
    """Returns whether a region computes with tensors. A loop of known length that computes only with numbers runs in
    Python."""
    return any(
        is_aten(node.op) or isinstance(node.op, Gradient) or any(map(_has_tensor_operations, node.regions))
        for node in region.nodes
    )


#: The maximum number of iterations over an iterator in one trace, if a staged condition ends the loop. Without this
#: limit, the trace of `for x in itertools.cycle(batches): if loss < 1: break` would not end.
MOST_ITERATIONS = 2048

_ENDLESS = (
    f"this loop over an iterator has not ended after {MOST_ITERATIONS} iterations, because only a run knows the condition that"
    " ends it\nhelp: write a `while` loop, or limit the iterator, for example with `itertools.islice`"
)


def _in_python(iter_, extra_test, body, get_state, set_state, names, execution):
    """Runs the loop in Python. If the condition to continue is staged, each iteration becomes a condition of the graph."""
    count, is_complete, is_tried = 0, False, False
    has_length = hasattr(type(iter_), "__len__")
    continues = _continues(extra_test, execution, count)
    if is_condition(continues) or continues:
        for target in iter_:
            if is_condition(continues):
                if type(iter_) is itertools.count and not is_tried and execution is None:
                    is_tried, done = True, _rest_of_count(iter_, target, extra_test, body, get_state, set_state, names)
                    if done is None:
                        return
                    if done:
                        continues = extra_test()
                        continue
                if not has_length and count >= MOST_ITERATIONS:
                    raise StagingError(_ENDLESS, spans.current())
                _guarded(current(), continues, lambda target=target: body(target), get_state, set_state, names)
            else:
                body(target)
            count += 1
            continues = _continues(extra_test, execution, count)
            if not is_condition(continues) and not continues:
                break
        else:
            is_complete = True
    if execution is not None:
        execution.report(profile.Trips(count, is_complete))


def _rest_of_count(counter, first, extra_test, body, get_state, set_state, names):
    """Stages the iterations of a loop over `itertools.count()` from the number `first` on. Returns None; if the loop
    must be unrolled, returns the number of iterations that have been run."""
    staging = current()
    found = _COUNT.fullmatch(repr(counter))
    if found is None or spans.current() in staging.decisions or body.__code__ in staging.unrolled:
        return 0
    step = int(found["step"] or 1)
    if not step or abs(first) >= _LAST:
        return 0
    source = ranges.Range(first, _LAST if step > 0 else -_LAST, step)
    done = _staged(staging, source, False, extra_test, body, get_state, set_state, names, None)
    if done is None:
        staging.counters.append((counter, repr(counter), body.__code__))
    return done


_COUNT = re.compile(r"count\(-?\d+(, (?P<step>-?\d+))?\)")

#: The last number of a loop over `itertools.count()` in the graph.
_LAST = 2**62


def check_counters(staging):
    """Called after the function has returned. If the position of an `itertools.count()` is still needed, restarts the
    trace and unrolls the loop over this counter, because only a run of the graph knows the position."""
    unused, references = (itertools.count(), "count(0)", None), None
    for counter, position, code in [unused, *staging.counters]:
        references = references or sys.getrefcount(counter)
        if repr(counter) != position or sys.getrefcount(counter) > references:
            raise Unroll(code)


def _continues(extra_test, execution, count):
    """Returns the condition for another iteration after `count` iterations, if the iterable has further elements: a
    staged boolean, or its assumed value."""
    continues = extra_test is None or extra_test()
    if execution is None or execution.expected is None or not is_condition(continues):
        return continues
    expected = execution.expected
    if count == expected.count and expected.is_complete:
        return continues  # the loop ends in any case
    return outcomes.assumed(execution, condition(current(), continues, "the loop"), count < expected.count)


def _guarded(staging, continues, body, get_state, set_state, names):
    """Stages an iteration that runs only if no earlier iteration has left the loop."""
    staged_if(staging, condition(staging, continues, "the loop"), body, lambda: None, get_state, set_state, names)
