"""Finds the trace for a call of a staged function, or creates it."""

import time
from collections import deque

from .._runtime import Callable
from ..errors import Assumed, Observed, Restart, RunInPython, StagingError
from ..tracing import ambient, signatures
from ..tracing.arguments import flatten, names
from ..tracing.backoff import Backoff
from ..tracing.trace import TRACING, Trace, span_of
from ..tracing.tracebacks import in_user_code, warn
from ..trees.classes import observe
from . import fallback as fallbacks
from . import progress
from .speculation import contradicted

#: A warning is given when a function has this number of traces, and again at each multiple of this number.
WARN_AFTER = 5


#: If each of this number of traces runs less than `FEWEST_RUNS` times on average, Python runs the next calls that would need
#: another one, because tracing takes longer than a call in Python.
NEWEST, FEWEST_RUNS = 12, 4

#: The same with fewer traces, if tracing has taken longer than this number of seconds of the processor.
NEWEST_IF_SLOW, SLOW = 4, 3.0


class RetryLookup(Exception):
    """Repeats the lookup of a trace, because the key has changed: it now contains numbers that could not be inputs of
    the graph."""


#: Exceptions that are not errors of a trace. Handlers for errors of a trace must not catch them.
SIGNALS = (fallbacks.Refused, Assumed, RetryLookup)


class Lookup(Callable):
    """The traces of a staged function. The settings of the function are attributes of the subclass."""

    def __init__(self):
        self._traces = {}  # key -> traces, the newest last
        self._families = {}  # key without shapes -> traces with unknown sizes
        self._refused = {}  # key -> why Python runs all calls with such arguments
        self._changing = {}  # key -> place of a number that changes between calls
        self._changed_while_paused = set()  # spans of the `init_scope` whose code has changed Python state
        self._newest = deque(maxlen=NEWEST)  # the traces that were created last
        self._reuse = Backoff(tolerated=0, first=32)  # traces that were hardly used again count as failures
        self._runs = {}  # the newest traces at the last failure -> the numbers of their runs
        self._seconds = 0.0  # the time of tracing since the last failure
        self._attempts = Backoff()  # traces that end because Python has to run the call count as failures
        self._is_comparable = True  # whether Python may run calls to compare their time
        self._fixed = set()  # keys of places whose numbers must be known during tracing

    def _traced(self, leaves, structure, args, kwargs, is_trial=False, rows=None):
        """Returns the trace for a call. `rows` maps the index of a leaf to its dimensions whose sizes are numbers of
        rows of trees."""
        try:
            with TRACING:
                return self._trace_for(leaves, structure, args, kwargs, is_trial, rows)
        except SIGNALS:
            raise
        except Exception as error:
            raise self._in_user_code(error) from error.__cause__

    def _in_user_code(self, error):
        """Returns an error of a trace as the user sees it."""
        if isinstance(error, RecursionError):
            message = "a function calls itself, and no condition ends the recursion"
            return StagingError(f"tracing `{self.__name__}` does not terminate: {message}")
        return in_user_code(error)

    def _trace_for(self, leaves, structure, args, kwargs, is_trial, rows):
        try:
            return self._found_or_refused(leaves, structure, args, kwargs, is_trial, rows)
        except RetryLookup:
            return self._found_or_refused(leaves, structure, args, kwargs, is_trial, rows)

    def _found_or_refused(self, leaves, structure, args, kwargs, is_trial, rows):
        sizes = None
        if self.input_signature is not None:
            sizes = signatures.checked(self.__name__, self.input_signature, leaves)
        if not is_trial:
            return self._known_or_new(leaves, structure, args, kwargs, sizes, self._new_trace, rows)
        key = None

        def new_trace(args, kwargs, unknown=None):
            nonlocal key
            key = structure, *signatures.kinds(leaves), signatures.shapes(leaves)
            if (reason := self._fallbacks.reason(key)) is not None:
                raise fallbacks.Refused(key, reason)
            return self._new_trace(args, kwargs, unknown, is_trial=True)

        try:
            trace = self._known_or_new(leaves, structure, args, kwargs, sizes, new_trace)
        except SIGNALS:
            raise
        except (Exception, SystemExit) as error:
            raise fallbacks.Refused(key, self._in_user_code(error)) from None
        if key is not None:
            self._fallbacks.in_a_row = 0
        return trace

    def _known_or_new(self, leaves, structure, args, kwargs, sizes, new_trace, rows=None):
        inputs = () if self._speculation is None else self._speculation.arguments.inputs(structure, leaves)
        kind = (structure, ambient.key(), *signatures.kinds(leaves, inputs))
        if sizes is not None:
            key = ("signature", kind)
            known = self._live(key, leaves)
            return self._created(key, lambda: new_trace(args, kwargs, sizes)) if known is None else known
        shapes = signatures.shapes(leaves, rows)
        key = kind, shapes
        known = self._live(key, leaves)
        if known is not None:
            return known
        family = self._families.setdefault(kind, signatures.Family())
        if self._speculation is not None and not family.seen:
            family.seen = self._speculation.arguments.shapes(structure, leaves)
        for trace in family.relaxed(shapes):
            if trace.accepts(leaves) and not trace.broken()[0]:
                return trace
        self._check_refused(key)
        sizes = family.unknown(shapes)
        if sizes is not None:
            try:
                trace = new_trace(args, kwargs, {**(rows or {}), **sizes})
            except SIGNALS:
                raise
            except RunInPython as signal:
                if signal.lasts:
                    family.is_fixed = True
                    self._refused[key] = signal.reason
                raise
            except Exception:  # this code needs known shapes
                family.is_fixed = True
            else:
                family.add(sizes, trace)
                return trace
        if rows is None and self._takes_trees() and observe(leaves):
            raise Observed
        family.seen.append(shapes)
        return self._created(key, lambda: new_trace(args, kwargs, rows))

    def _live(self, key, leaves):
        """Returns a trace for this key whose guards hold."""
        changed = []
        for trace in reversed(self._traces.get(key, ())):
            if not trace.accepts(leaves):
                continue
            broken, places = trace.broken()
            if not broken:
                return trace
            changed += places
        self._note_changes(changed)
        return None

    def _note_changes(self, places):
        """Records that numbers in these places have changed. They become inputs of the next graph."""
        new = [place for place in places if place.key() not in self._changing]
        self._changing.update((place.key(), place) for place in new)
        if new and self._speculation is not None:
            raise contradicted(new[0])

    def _check_refused(self, key):
        if key in self._refused:
            raise RunInPython(self._refused[key], lasts=True)

    def _created(self, key, create):
        """Creates a trace with this key."""
        self._check_refused(key)
        self._warn(key)
        try:
            trace = create()
        except RunInPython as signal:
            if signal.lasts:
                self._refused[key] = signal.reason
            raise
        self._traces.setdefault(key, []).append(trace)
        return trace

    def _new_trace(self, args, kwargs, unknown=None, is_trial=False):
        """Returns a new trace, unless the last traces or attempts were in vain."""
        self._check_reuse()
        if not self._attempts.should_try():
            raise RunInPython(self._attempts.reason)
        start = time.thread_time()
        try:
            trace = self._attempts.succeeded(self._traced_with_numbers(args, kwargs, unknown, is_trial))
        except RunInPython as signal:
            if signal.reason is not None:
                self._attempts.failed(signal.reason, time.thread_time() - start)
            raise
        seconds = time.thread_time() - start
        self._seconds += seconds
        self._newest.append(trace)
        self.note_trace(seconds)
        self._compare_calls(trace.is_comparable and trace.compiles_late)
        return trace

    def _compare_calls(self, is_comparable):
        """Measures whether the next calls are faster as graphs or in Python, unless this was called with False before."""
        self._is_comparable = self._is_comparable and is_comparable
        self.measure_calls(self._is_comparable)

    def _note_python(self, seconds, skipped=0):
        """Called after Python has run calls, with their duration. `skipped` is the number of those for which no trace was
        looked up."""
        self._attempts.passed(seconds, skipped)
        self._reuse.passed(seconds, skipped)

    def _check_reuse(self):
        """Raises `RunInPython` if the last traces were hardly used again. Keeps them for some time, because later calls may
        use them: a loop over 20 models needs 20 traces in its first pass."""
        reuse, newest = self._reuse, self._newest
        if not reuse.should_try():
            if not reuse.skips and not self._are_used():
                self._discard_unused()
            raise RunInPython(reuse.reason)
        if len(newest) < (2 if reuse.failures else NEWEST_IF_SLOW if self._seconds > SLOW else NEWEST):
            return
        if self._are_used():
            reuse.failures = 0
        elif not self._discard_unused():
            self._runs = {trace: trace.runs.successes for trace in newest}
            message = f"the last {len(newest)} graphs of `{self.__name__}` were hardly used again"
            help = "help: pass values that change as tensors"
            error = StagingError(f"{message}\n{help}", span_of(self.python_function))
            reuse.failed(error, self._seconds)
            raise RunInPython(error)

    def _are_used(self):
        """Returns whether the newest traces run often enough."""
        return sum(trace.runs.successes for trace in self._newest) >= FEWEST_RUNS * len(self._newest)

    def _discard_unused(self):
        """Discards the traces that have not run since the last failure, because checking their guards takes time in each
        call. (Runs of cached calls are not counted.) Returns whether the newest trace is older than the last failure."""
        newest, runs = self._newest, self._runs
        if not newest or newest[-1] not in runs:
            return False
        self._keep(lambda trace: trace.cached_calls or trace.runs.successes != runs.get(trace))
        newest.clear()
        self._runs, self._seconds = {}, 0.0
        return True

    def _traced_with_numbers(self, args, kwargs, unknown, is_trial):
        """Returns a new trace. Numbers that change between calls become parameters of its graph if the code can be staged with
        them."""
        known = self._changing if self._speculation is None else {**self._speculation.attributes.varying, **self._changing}
        changing = [place for key, place in known.items() if key not in self._fixed]
        try:
            return self._staged(args, kwargs, changing, unknown, is_trial)
        except (Assumed, RetryLookup):
            raise
        except Exception:
            if not changing:
                raise
        trace = self._staged(args, kwargs, (), unknown, is_trial)
        self._fixed.update(place.key() for place in changing)
        return trace

    def _staged(self, args, kwargs, changing, unknown, is_trial):
        """Returns a new trace. With speculation, it makes assumptions if the code can be staged with them."""
        if self._speculation is None:
            return self._trace(args, kwargs, changing, unknown, is_trial)
        leaves, structure = flatten(args, kwargs)
        arguments = self._speculation.arguments
        arguments.check(structure, leaves, names(self.python_function, args, kwargs))
        inputs = arguments.inputs(structure, leaves)
        try:
            trace = self._assuming(args, kwargs, changing, unknown, is_trial, inputs)
            if not (inputs and trace.staging.assumptions):  # an assumption may have fixed the value of an input
                return trace
        except Exception:
            if not inputs:
                raise
        arguments.fix(structure, inputs)
        raise RetryLookup

    def _assuming(self, args, kwargs, changing, unknown, is_trial, inputs):
        expected = self._speculation.expected
        try:
            return self._trace(args, kwargs, changing, unknown, is_trial, expected, inputs)
        except (Exception, RunInPython):
            if not expected:
                raise
        return self._trace(args, kwargs, changing, unknown, is_trial, {}, inputs)

    def _trace(self, args, kwargs, changing, unknown, is_trial, expected=None, inputs=()):
        optimizers, calls = [], self._fallbacks.python_calls if is_trial else None
        while True:
            try:
                with progress.staging(self.__name__):
                    options = changing, unknown, optimizers, calls, expected, inputs, self._compiler
                    trace = Trace(self.python_function, args, kwargs, *options)
            except Restart as restart:
                optimizers.append(restart.optimizer)
                continue
            # A trace that creates state is valid for one call. As in TensorFlow, the next trace uses that state, and is
            # kept even if the same `init_scope` changes state again.
            trace.is_spent = bool(trace.changed_while_paused - self._changed_while_paused)
            self._changed_while_paused |= trace.changed_while_paused
            return trace

    def _warn(self, key):
        """Warns about repeated tracing, with the difference to the previous trace."""
        count = sum(map(len, self._traces.values()))
        if not count or count % WARN_AFTER:
            return
        last = next(reversed(self._traces))
        changes = [
            f"{old} changed to {new}" for old, new in zip(signatures.flat(last), signatures.flat(key)) if old != new
        ]
        reason = "; ".join(changes[:3]) or "state outside of it changed"
        warn(
            f"`{self.__name__}` is traced for the {count + 1}th time, which is slow: {reason}\n"
            "help: pass numbers that change as tensors"
        )
