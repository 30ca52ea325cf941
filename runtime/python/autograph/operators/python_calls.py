"""Lets a graph call a function that cannot be staged: Python runs the function each time the graph runs.

The kinds of the function's results are known from an earlier call, which was *observed*. The function must share no
state with the rest of the trace, because a run of the graph changes other Python state only at its end. If the function
returns results of another kind, the run ends with a `ResultKindChanged`, and Python runs the whole call of the staged
function. Calls that the run has already made are not repeated: their results come from the *log* of the run.
"""

import builtins
import collections
import dis
import sys
import threading
import types
from contextlib import contextmanager

import torch
from torch.utils import _pytree as pytree

from .._runtime import resume_cached_calls, suspend_cached_calls
from ..capture import heap, permanent
from ..capture.objects import Objects, attributes_of
from ..capture.places import Contents
from ..capture.staging import is_staged
from ..conversion import spans
from ..errors import ResultKindChanged, StagingError
from ..record.queries import called_for_effects
from ..record.types import TensorType, is_differentiable
from .py_function import py_function
from .standins import holds_stand_ins


class _Local(threading.local):
    run = replayed = recomputed = None


_LOCAL = _Local()

#: Observation ends when each function has been observed `MAX_CALLS` times, or after `MAX_EVENTS` events of the
#: interpreter.
MAX_CALLS = 3
MAX_EVENTS = 200_000


class Kind:
    """The kind of the results of a function: their structure, the type of each (a `TensorType`, or the class of a number or
    of None), and whether each is a tensor that requires a gradient (`have_history`)."""

    __slots__ = ("structure", "types", "have_history")

    def __init__(self, structure, types, have_history):
        self.structure = structure
        self.types = types
        self.have_history = have_history

    def merged(self, other):
        """Returns the narrowest kind that includes both kinds; None if there is none."""
        if self.structure != other.structure or self.have_history != other.have_history:
            return None
        types = [_merged(a, b) for a, b in zip(self.types, other.types)]
        return None if any(t is False for t in types) else Kind(self.structure, types, self.have_history)

    def fits(self, other):
        """Returns whether this kind includes another, regardless of gradients."""
        merged = self.merged(Kind(other.structure, other.types, self.have_history))
        return merged is not None and merged.types == self.types


def _merged(a, b):
    if isinstance(a, TensorType) and isinstance(b, TensorType):
        if (a.dtype, a.device, len(a.dims)) != (b.dtype, b.device, len(b.dims)):
            return False
        return TensorType(a.dtype, tuple(m if m == n else None for m, n in zip(a.dims, b.dims)), a.device)
    return a if a == b else False


def kind_of(result, arguments, versions):
    """Returns the kind of a result. Returns None if a graph cannot hold the result, if the call has changed one of its
    arguments, or if the result shares memory with an argument. `versions` contains torch's version counters of the tensors
    before the call."""
    tensors = [a for a in arguments if isinstance(a, torch.Tensor)]
    if any(t.is_inference() for t in tensors) or any(t._version != version for t, version in zip(tensors, versions)):
        return None
    leaves, structure = pytree.tree_flatten(result)
    types = []
    for leaf in leaves:
        if type(leaf) is torch.Tensor and leaf.layout is torch.strided:
            memory = leaf.untyped_storage().data_ptr()
            others = [*tensors, *(other for other in leaves if other is not leaf and isinstance(other, torch.Tensor))]
            if leaf.numel() and any(o.layout is torch.strided and o.untyped_storage().data_ptr() == memory for o in others):
                return None
            types.append(TensorType(leaf.dtype, tuple(leaf.shape), leaf.device))
        elif type(leaf) is int and abs(leaf) >> 62 or type(leaf) not in (bool, int, float, type(None)):
            return None
        else:
            types.append(type(leaf))
    return Kind(structure, types, [isinstance(leaf, torch.Tensor) and leaf.requires_grad for leaf in leaves])


# Observation.


@contextmanager
def observed(codes):
    """Observes calls of functions with these codes in a block. Yields a dictionary from each code to the kind of its
    results, or to None if a graph cannot call it."""
    kinds, counts, calls, events = {}, dict.fromkeys(codes, 0), [], 0
    if sys.getprofile() is not None:
        yield kinds
        return

    def event(frame, name, result):
        try:
            observe(frame, name, result)
        except Exception:  # the program must not see this error; these functions count as not observed
            sys.setprofile(None)
            kinds.clear()

    def observe(frame, name, result):
        """Counts the calls of these functions, and merges the kinds of their results. Stops when enough calls were seen."""
        nonlocal events
        events += 1
        code = frame.f_code
        if code in counts and name == "call":
            arguments = pytree.tree_leaves(list(frame.f_locals.values()))
            tensors = [a for a in arguments if isinstance(a, torch.Tensor)]
            calls.append((frame, arguments, [None if a.is_inference() else a._version for a in tensors]))
        elif code in counts and name == "return" and calls and calls[-1][0] is frame:
            _, arguments, versions = calls.pop()
            found = kind_of(result, arguments, versions)
            before = kinds.get(code, found)
            kinds[code] = None if found is None or before is None else before.merged(found)
            counts[code] += 1
        if events > MAX_EVENTS or all(count >= MAX_CALLS for count in counts.values()):
            sys.setprofile(None)

    sys.setprofile(event)
    try:
        yield kinds
    finally:
        if sys.getprofile() is event:
            sys.setprofile(None)


# Calls from a graph.


class PythonCall:
    """A function that a graph calls: the kind of its results, and a function `counted` that is called for each call."""

    __slots__ = ("kind", "counted")

    def __init__(self, kind, counted):
        self.kind = kind
        self.counted = counted


def call(staging, function, args, keywords):
    """Records a call of a function from the graph."""
    known = staging.python_calls[function.__code__]
    if spans.inside_try() or staging.has_unknown_sizes:
        raise StagingError("a graph cannot call this function", spans.current())
    leaves, structure = pytree.tree_flatten((args, keywords))
    places = [i for i, leaf in enumerate(leaves) if is_staged(leaf) or isinstance(leaf, torch.Tensor)]
    others = [leaf for i, leaf in enumerate(leaves) if i not in set(places)]
    if any(holds_stand_ins(other, staging.outside) for other in others):
        raise StagingError(f"an argument of `{function.__name__}` holds values of the graph", spans.current())
    _reach(staging, function, others)
    kind, code = known.kind, function.__code__
    for index in places:
        leaves[index] = staging.fake_of(leaves[index]) if isinstance(leaves[index], torch.Tensor) else leaves[index]
    inputs = [leaves[index] for index in places]
    held = [None if i in set(places) else leaf for i, leaf in enumerate(leaves)]

    def run(*values):
        given = list(held)
        copies = [v.clone() if isinstance(v, torch.Tensor) else v for v in values]
        for index, value in zip(places, copies):
            given[index] = value
        args, keywords = pytree.tree_unflatten(given, structure)
        if (logged := _recomputed()) is not None:
            return [r for r in pytree.tree_leaves(logged.replay(args, keywords)) if r is not None]
        tensors = [v for v in copies if isinstance(v, torch.Tensor)]
        versions = [v._version for v in tensors]
        known.counted()
        run = current_run()
        with run.paused():
            result = function(*args, **keywords)
        run.log.append(_Logged(code, result, list(values), tensors, versions, torch.get_rng_state()))
        found = kind_of(result, tensors, versions)
        if found is None or not kind.fits(found):
            raise ResultKindChanged(code)
        return [r for r in pytree.tree_leaves(result) if r is not None]

    first = len(staging.callbacks)
    types_ = [t for t in kind.types if t is not type(None)]
    results = iter(_recorded(run, inputs, types_, any(kind.have_history)))
    staging.repeatable.update(range(first, len(staging.callbacks)))
    found = []
    for type_, has_history in zip(kind.types, kind.have_history):
        value = None if type_ is type(None) else next(results)
        found.append(value.detach() if isinstance(value, torch.Tensor) and not has_history and value.requires_grad else value)
    return pytree.tree_unflatten(found, kind.structure)


def _recorded(run, inputs, types, has_history):
    if has_history:
        return py_function(run, inputs, types)
    with torch.no_grad():
        return py_function(run, inputs, types)


def _reach(staging, function, held):
    """Records the state that a function can reach. Refuses a function that reaches a tensor that requires a gradient."""
    objects = _reachable([function], held)
    for entry in objects.entries.values():
        for value in _children(entry, objects):
            if isinstance(value, torch.Tensor) and value.requires_grad:
                raise StagingError(f"`{function.__name__}` uses a tensor from outside that requires a gradient", spans.current())
    staging.reached.append((function, objects, spans.current()))


def _reachable(functions, values, in_python=()):
    """Returns the state that functions can reach by the names in their code."""
    named = None
    for _ in range(2):  # the first iteration finds the names
        objects = Objects()
        objects.named, objects.in_python = named, in_python
        with permanent.allowed():
            for function in functions:
                objects.entered(function)
            for value in values:
                objects.watch(value)
        named = objects.names
    objects.names = named
    return objects


def reachable_values(function, arguments):
    """Yields the values of the state that a function can reach from its names and arguments."""
    objects = _reachable([function], arguments)
    for entry in objects.entries.values():
        yield from _children(entry, objects)


def _children(entry, objects):
    if isinstance(entry, heap.Attributes):
        return [value for name, value in attributes_of(entry.owner, entry.state) if name in objects.names]
    return entry.state if isinstance(entry, heap.StagedList) else entry.children()


def check(staging, python_function, changed):
    """Called at the end of a trace. Raises an error if a function that the graph calls shares state with the rest of the
    trace."""
    if not staging.reached:
        return
    # Changes of random number generators in Python are applied after the run.
    is_drawn = any(isinstance(place, Contents) and place.kind.is_drawn for place in changed)
    if is_drawn or called_for_effects(staging.record.entry) - staging.repeatable:
        message = "the function also draws numbers in Python, and a run that has to end here could not be repeated"
        raise StagingError(message, staging.reached[0][2])
    functions = [python_function, *staging.objects.called()]
    rest = _reachable([f for f in functions if isinstance(f, types.FunctionType)], [python_function], staging.python_calls)
    changed = {place.key() for place in changed}
    tensors = {id(capture.tensor) for capture in staging.captures.values()}
    for function, objects, span in staging.reached:
        for key, entry in objects.entries.items():
            is_shared = key in rest.entries and not _can_be_shared(entry, objects, rest)
            used = [value for value in _children(entry, objects) if isinstance(value, torch.Tensor)]
            if is_shared or key in changed or any(id(value) in tensors for value in used):
                raise StagingError(f"`{function.__name__}` shares state with the rest of the function", span)


def _can_be_shared(entry, objects, rest):
    """Returns whether the function and the rest of the trace can share an entry. This holds for a variable that neither of
    them assigns, and for an object of which they use different attributes."""
    if isinstance(entry, heap.Variable):
        return not _assigned([*objects.codes, *rest.codes]) & {entry.place.name, _ANY}
    if isinstance(entry, heap.Attributes):
        if _assigned(objects.codes) & {*rest.names, _ANY} or _assigned(rest.codes) & {*objects.names, _ANY}:
            return False
        used = [value for name, value in attributes_of(entry.owner, entry.state) if name in objects.names & rest.names]
        return all(isinstance(value, heap.DEFINITIONS) for value in used)
    return False


def _assigned(codes):
    """Returns the names of the variables and attributes that code assigns; includes `_ANY` if the code may assign any
    attribute."""
    found = set()
    for code in codes:
        instructions = list(dis.get_instructions(code))
        found |= {i.argval for i in instructions if i.opname.startswith(_ASSIGNS)}
        found |= {_ANY} if {"setattr", "delattr", "vars", "__dict__"} & set(code.co_names) else set()
        found |= _assigned(constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    return found


_ANY = ""
_ASSIGNS = tuple(f"{what}_{where}" for what in ("STORE", "DELETE") for where in ("ATTR", "GLOBAL", "DEREF", "NAME"))


# Runs.


class _Logged:
    """One call that a run has made. `copies` are the copies of the tensors among the arguments, with which the function
    was called. `versions` contains their version counters before the call, and `rng_state` is the state of torch's
    generator after it."""

    __slots__ = ("code", "result", "inputs", "copies", "versions", "rng_state")

    def __init__(self, code, result, inputs, copies, versions, rng_state):
        self.code = code
        self.result = result
        self.inputs = inputs
        self.copies = copies
        self.versions = versions
        self.rng_state = rng_state

    def replay(self, args, keywords):
        """Repeats the effects of the logged call: on these arguments, which have the same values as the logged ones,
        and on torch's generator. Returns the logged result."""
        tensors = [a for a in pytree.tree_leaves((args, keywords)) if isinstance(a, torch.Tensor)]
        for tensor, copy, version in zip(tensors, self.copies, self.versions):
            if copy._version != version:
                with torch.no_grad():
                    tensor.copy_(copy)
        torch.set_rng_state(self.rng_state)
        leaves, structure = pytree.tree_flatten(self.result)
        outputs = [v for v in leaves if isinstance(v, torch.Tensor) and v.requires_grad and is_differentiable(v.dtype)]
        inputs = [v for v in self.inputs if isinstance(v, torch.Tensor)]
        if outputs:
            record = torch.empty(0)
            needed = [(given, made) for given, made in zip(tensors, inputs) if made.requires_grad]
            record.recorded = outputs, [made for _, made in needed]
            linked = iter(torch.ops.autograph.taped([o.detach() for o in outputs], [given for given, _ in needed], record))
            leaves = [next(linked) if any(v is o for o in outputs) else v for v in leaves]
        return pytree.tree_unflatten(leaves, structure)


class Run:
    """A run of a graph: its calls of Python functions, how often it has printed, and how often it has written each message to
    a logger."""

    def __init__(self):
        self.log = collections.deque()
        self.printed = 0
        self.messages = collections.Counter()
        self.is_paused = False

    def has_effects(self):
        """Returns whether Python must not repeat something that the run has done."""
        return bool(self.log or self.printed or self.messages)

    @contextmanager
    def paused(self):
        self.is_paused = True
        try:
            yield
        finally:
            self.is_paused = False


def counted_print(*objects, **keywords):
    """Replaces `print` during a run, and counts the calls."""
    run = _LOCAL.run
    if run is not None and not run.is_paused:
        run.printed += 1
    return _PRINT(*objects, **keywords)


_PRINT = builtins.print


def was_printed_before():
    """Returns whether the run of the surrounding `replaying` block has already made this call of `print`. Counts the call."""
    run = _LOCAL.replayed
    if run is None or not run.printed:
        return False
    run.printed -= 1
    return True


def note_message(key):
    """Records that a run writes a message to a logger. `key()` returns what identifies the message."""
    run = _LOCAL.run
    if run is not None and not run.is_paused:
        run.messages[key()] += 1


def was_logged_before(message):
    """Returns whether the run of the surrounding `replaying` block has already written this message to a logger. Counts the
    call."""
    run = _LOCAL.replayed
    if run is None or not run.messages[message]:
        return False
    run.messages[message] -= 1
    return True


def current_run():
    """Returns the run of the surrounding `running` block, or a new one."""
    return _LOCAL.run or Run()


@contextmanager
def running():
    """Yields a `Run`, which records the calls that a graph makes in this block."""
    before, _LOCAL.run, builtins.print = (_LOCAL.run, builtins.print), Run(), counted_print
    try:
        yield _LOCAL.run
    finally:
        _LOCAL.run, builtins.print = before


@contextmanager
def continued():
    """Yields the `Run` of the surrounding `running` block, or a new one, which records the effects of a graph in this
    block."""
    run = _LOCAL.run
    if run is not None and not run.is_paused:
        yield run
        return
    with running() as run:
        yield run


def is_replaying():
    """Returns whether converted code runs in a `replaying` block."""
    return _LOCAL.replayed is not None


@contextmanager
def replaying(run):
    """In this block, converted code does not repeat the effects of a run. Calls that the run has made return the logged
    results. Calls of `print` and of loggers that the run has made write nothing."""
    before, _LOCAL.replayed = _LOCAL.replayed, run
    suspend_cached_calls()
    try:
        yield
    finally:
        resume_cached_calls()
        _LOCAL.replayed = before


@contextmanager
def recomputing(run):
    """In this block, a graph recomputes values of a run: its calls of Python get the logged results."""
    before, _LOCAL.recomputed = _LOCAL.recomputed, iter(list(run.log))
    try:
        yield
    finally:
        _LOCAL.recomputed = before


def _recomputed():
    """Returns the next logged call of the surrounding `recomputing` block; None outside of such a block."""
    calls = _LOCAL.recomputed
    return None if calls is None else next(calls)


def next_logged_call(function):
    """Removes the next call from the log of the surrounding `replaying` block, and returns it. None if that call is of
    another function."""
    run = _LOCAL.replayed
    if run is None or not run.log or run.log[0].code is not function.__code__:
        return None
    return run.log.popleft()
