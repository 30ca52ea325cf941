"""`@ag.function`: functions that are traced once for each kind of arguments and then run as graphs."""

import copy
import functools
import inspect
import os
import sys
import time
import types
from collections import deque

import torch
from torch.utils import _pytree as pytree

from .._runtime import CachedCall, compares_with_python
from ..capture import profile
from ..capture.staging import current
from ..errors import (
    Assumed,
    AutographError,
    ColumnMissing,
    Observed,
    OtherInput,
    OuterHistory,
    ResultKindChanged,
    RunInPython,
    StagingError,
    Unencoded,
    located,
)
from ..operators import calls as converted_calls
from ..operators import python_calls
from ..shadow import check
from ..tracing import ambient, compilation, direct, signatures
from ..tracing.arguments import flatten, flatten_plain, names
from ..tracing.trace import TRACING, name_of, span_of
from ..tracing.tracebacks import warn
from ..trees.classes import occur_in
from ..trees.encoding import TreeEncoder
from . import fallback as fallbacks
from . import saved
from .benefit import Benefit
from .eager import eagerly, functions_run_eagerly
from .lookup import FEWEST_RUNS, SIGNALS, Lookup
from .speculation import Speculation

_SUSPENDABLE = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


#: A call is cached if its trace is one of this number of traces that ran last.
RECENT = 8

#: The maximum number of cached calls of a trace. A trace with unknown sizes has one for each shape.
MAX_CACHED = 32


class Function(Lookup):
    """A staged function. A call from a function that is being traced becomes part of its graph."""

    #: Whether a `CachedCall` may run calls that are like an earlier one. Such calls bypass `_call`.
    caches_calls = True

    def __init__(self, python_function, input_signature=None, fallback=None, speculate=False, compile=None):
        super().__init__()
        if not callable(python_function) or isinstance(python_function, type):
            raise TypeError(f"{python_function!r} is not a function or method and cannot be staged")
        code = getattr(inspect.unwrap(python_function), "__code__", None)
        error = None
        if code is not None and code.co_flags & _SUSPENDABLE:
            kind = "a generator" if code.co_flags & inspect.CO_GENERATOR else "a coroutine"
            message = f"`{name_of(python_function)}` is {kind} and cannot be staged"
            error = StagingError(message, (code.co_filename, code.co_firstlineno, 0, code.co_firstlineno, 1))
            if fallback is None:
                raise error
        is_plain = isinstance(python_function, types.FunctionType)
        functools.update_wrapper(self, python_function, updated=("__dict__",) if is_plain else ())
        self.__name__ = name_of(python_function)
        self.python_function = python_function
        self.input_signature = None if input_signature is None else signatures.types_of(input_signature)
        self.fallback = fallbacks.checked(fallback)
        self._compile = compilation.checked(compile)
        self._compiler = compilation.compiler(compile, self.__name__)
        self._fallbacks = fallbacks.Fallbacks(error)
        self._speculation = Speculation() if speculate and error is None else None
        self._trees = TreeEncoder()
        self._recent = deque(maxlen=RECENT)  # the traces of the last calls that were not cached
        self._benefit = Benefit()
        self._compare_calls(self.caches_calls and input_signature is None and self._speculation is None)
        self._last_reason = None  # why Python ran the last call that it ran; skipped calls are counted for it
        #: The time of the last call, if its lookup found no graph and the fallback ran it; otherwise None.
        self._fallback_seconds = None

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        return types.MethodType(self, instance)

    def __reduce__(self):
        """A staged function is pickled by its name, like any function. If that name cannot be imported, the Python function is
        pickled, and wrapped again."""
        owner = sys.modules.get(self.__module__)
        for part in getattr(self, "__qualname__", "").split("."):
            owner = getattr(owner, part, None)
        if owner is self:
            return self.__qualname__
        return type(self), (self.python_function, *self._options())

    def __deepcopy__(self, memo):
        return type(self)(copy.deepcopy(self.python_function, memo), *self._options())

    def _options(self):
        return self.input_signature, self.fallback, self._speculation is not None, self._compile

    def __ag_inline__(self, args, kwargs):
        return converted_calls.call(self.python_function, args, kwargs)

    def _call(self, *args, **kwargs):
        try:
            return self._called(args, kwargs)
        except OtherInput as error:
            return self._called_again(error, args, kwargs)

    def _called_again(self, error, args, kwargs):
        """Repeats a call whose trace turned out to be invalid before the graph ran."""
        for _ in self.traces:
            if not any(error.trace is trace for trace in self.traces):
                break
            try:
                return self._called(args, kwargs)
            except OtherInput as other:
                error = other
        raise error

    def _called(self, args, kwargs):
        if functions_run_eagerly() and not python_calls.is_replaying():
            return self.python_function(*args, **kwargs)
        if current() is not None or profile.is_active() or python_calls.is_replaying():
            return self.__ag_inline__(args, kwargs)
        start = time.perf_counter()
        flat = flatten_plain(args, kwargs)
        if flat is None:
            if occur_in(args) or kwargs and occur_in(kwargs.values()):
                encoded = self._encoded(args, kwargs)
                if encoded is not None:
                    return self._called_with_trees(encoded, args, kwargs, start)
            flat = pytree.tree_flatten((args, kwargs))
        leaves, structure = flat
        if self._speculation is not None:
            if self._speculation.is_profiling:
                return self._profiled(leaves, structure, args, kwargs)
            if self._fallbacks.never is not None:
                return self._in_python(self._fallbacks.never, args, kwargs, start)
        if self.fallback is not None or fallbacks.is_inherited():
            return self._staged_or_in_python(leaves, structure, args, kwargs)
        try:
            trace = self._traced(leaves, structure, args, kwargs)
            is_new = trace not in self._recent
            if is_new:
                self._recent.append(trace)
            elif self.caches_calls:
                self._cache(trace, leaves, args, kwargs)
            result = trace.run(leaves, args, kwargs)
            if self._benefit.python is not None and not is_new:
                self._ran_a_graph(start)
            return result
        except Assumed as assumed:
            reason, run = self._relaxed(assumed), assumed.run
        except RunInPython as signal:
            reason, run = signal.reason, None
        except Observed:
            return self._call(*args, **kwargs)
        return self._in_python(reason, args, kwargs, start, run)

    def _cache(self, trace, leaves, args, kwargs, run=None):
        """Creates the `CachedCall` that runs further calls like this one, if their arguments can be compared in Rust."""
        if trace.changed_while_paused or self._speculation is not None or trace.cached_calls >= MAX_CACHED:
            return
        run_directly = direct.direct(trace, leaves)
        if run_directly is not None and not trace.cached_calls:
            trace.runs.successes += FEWEST_RUNS  # runs of the cached call are not counted
        made = CachedCall.of(
            trace,
            (args, kwargs, leaves),
            ambient.key(),
            guards=trace.state_guards,
            run=self._run_cached if run is None else run,
            direct=run_directly,
        )
        trace.cached_calls = MAX_CACHED if made is None else trace.cached_calls + 1
        if made is not None:
            self.cached_call = made

    def _run_cached(self, trace, leaves, args, kwargs):
        if trace.checks_arguments and not trace.accepts(leaves):
            return self._call(*args, **kwargs)
        start = time.perf_counter()
        try:
            result = trace.run(leaves, args, kwargs)
            if self._benefit.python is not None:
                self._ran_a_graph(start)
            return result
        except OtherInput as error:
            return self._called_again(error, args, kwargs)
        except Assumed as assumed:
            reason, run = self._relaxed(assumed), assumed.run
        except RunInPython as signal:
            reason, run = signal.reason, None
        return self._in_python(reason, args, kwargs, start, run)

    def _encoded(self, args, kwargs):
        """Returns the arguments with their trees encoded as columns. Returns None if the arguments contain no trees, or
        if Python may run a part of the call, because Python needs the objects."""
        return self._trees.encoded(args, kwargs) if self._takes_trees() else None

    def _takes_trees(self):
        modes = self.input_signature, self._speculation, self.fallback
        return all(mode is None for mode in modes) and not fallbacks.is_inherited()

    def _called_with_trees(self, encoded, args, kwargs, start):
        def run(encoded):
            leaves, trace = self._trace_of_trees(encoded)
            return (trace.run(leaves, encoded.args, encoded.kwargs, encoded),)

        try:
            found, unencoded, excluded = self._with_columns(encoded, args, kwargs, run)
        except Assumed as assumed:
            return self._in_python(self._relaxed(assumed), args, kwargs, start, assumed.run)
        except RunInPython as signal:
            return self._in_python(signal.reason, args, kwargs, start)
        if found is not None:
            if self._benefit.python is not None:
                self._ran_a_graph(start)
            return found[0]
        try:
            result = self._call(*args, **kwargs)
        except Exception:  # the call fails with objects, too
            self._trees.include(excluded)
            raise
        kinds = ", ".join(sorted(f"`{kind.__name__}`" for kind in excluded))
        message = f"`{self.__name__}` is traced again for each object of the class {kinds}, which is slow: {unencoded.message}"
        warn(message if unencoded.span is None else f"{message}\n{located(unencoded.span)}")
        return result

    def _with_columns(self, encoded, args, kwargs, use):
        """Calls `use(encoded)`. If a trace needs other columns (`ColumnMissing`) or objects in place of columns (`Unencoded`),
        encodes the arguments again and repeats the call. Returns a tuple: the result of `use` (None if no class is left
        that can be encoded), the last `Unencoded`, and the classes that were excluded."""
        unencoded, excluded = None, set()
        while encoded is not None:
            try:
                return use(encoded), unencoded, excluded
            except ColumnMissing as missing:
                self._trees.read(missing.kind, missing.name)
            except Unencoded as signal:
                unencoded = signal
                excluded |= self._trees.exclude(unencoded.kinds, encoded.roots)
            encoded = self._trees.encoded(args, kwargs)
        return None, unencoded, excluded

    def _trace_of_trees(self, encoded):
        leaves, structure = flatten(encoded.args, encoded.kwargs)
        try:
            return leaves, self._traced(leaves, structure, encoded.args, encoded.kwargs, rows=encoded.sizes(leaves))
        except SIGNALS:
            raise
        except RunInPython as signal:
            if signal.reason is None:
                raise
            error = signal.reason
        except Exception as raised:  # the call may succeed with the objects
            error = raised
        kinds = {kind for kind, _ in encoded.first_root.tables} | {type(node) for node in encoded.roots}
        raise Unencoded(kinds, getattr(error, "message", str(error)), getattr(error, "span", None)) from None

    def _in_python(self, reason, args, kwargs, called, run=None):
        """Runs the call in Python. `called` is the time of the call. `run` is a run of a graph that was abandoned in this
        call; Python does not repeat the effects that this run has had. None if it had no effects."""
        start = time.perf_counter()
        with eagerly():
            if run is None:
                result = self.python_function(*args, **kwargs)
            else:
                with python_calls.replaying(run):
                    result = converted_calls.call(self.python_function, args, kwargs)
        seconds = time.perf_counter() - start
        self._note_python(seconds)
        if reason is not None:
            self.pause_measurement()  # `_benefit` decides
            self._last_reason = self._fallbacks.note(self.__name__, reason)
            if self.caches_calls:
                took = time.perf_counter() - called
                if run is None:
                    self._benefit.ran_in_python(took - seconds, seconds)
                else:  # converted code takes longer than the function itself
                    self._benefit.ran_a_graph(took)
                self._skip_if_due()
        return self._ran_in_python(reason, result)

    def _ran_a_graph(self, called):
        """Called after a graph has run a call that began at this time, if Python has run other calls."""
        self._benefit.ran_a_graph(time.perf_counter() - called)
        if self.caches_calls:
            self._skip_if_due()

    def _skip_if_due(self):
        """Lets Python run the next calls without a lookup, if graphs have cost more time than they saved."""
        if self._benefit.is_due() and compares_with_python():
            direct = self._note_skipped()
            if count := self._benefit.decided(direct):
                self.skip_lookups(count)

    def _note_skipped(self):
        """Counts the calls that were skipped since the last call of this method. Returns the number of calls
        whose graph ran without Python since then."""
        direct, skipped, seconds, faster = self.take_counts()
        if faster and self._fallback_seconds is not None:  # a lookup would have found no graph
            self._note_python(faster * self._fallback_seconds, faster)
            self._fallbacks.count(self._last_reason, faster)
        if skipped:
            self._benefit.skipped(skipped, seconds)
            self._note_python(seconds, skipped)
            self._fallbacks.count(self._last_reason, skipped)
        return direct

    def _ran_in_python(self, reason, result):
        """Called after Python has run a call instead of a graph, with the reason. Returns the result of the call."""
        return result

    def _profiled(self, leaves, structure, args, kwargs):
        """Runs the call in Python, and profiles it."""
        named = names(self.python_function, args, kwargs)
        with self._speculation.profiled(self.python_function, structure, leaves, named):
            return converted_calls.call(self.python_function, args, kwargs)

    def _relaxed(self, assumed):
        """Relaxes an assumption that a call has contradicted, and removes the graphs that assume it. Returns the reason why
        Python runs the call."""
        if self._speculation is None:
            return assumed
        with TRACING:
            reason = self._speculation.relax(assumed)
            if self._speculation.is_hopeless(assumed):
                self._fallbacks.never = reason
            self._keep(lambda trace: str(assumed) not in trace.points and str(assumed) not in trace.staging.assumptions)
        return reason

    def _keep(self, is_valid):
        """Keeps only those graphs for which `is_valid(trace)` is true."""
        for key, found in self._traces.items():
            self._traces[key] = [trace for trace in found if is_valid(trace)]
        for family in self._families.values():
            family.traces = [entry for entry in family.traces if is_valid(entry[-1])]

    @property
    def regions(self):
        """The parts of the graphs that `compile="inductor"` compiles, with their lines; see the README of the runtime."""
        return list(self._compiler.regions)

    @property
    def speculation(self):
        """The list of the `Assumption`s that `speculate=True` makes about the calls."""
        return [] if self._speculation is None else self._speculation.table(self.traces)

    def _run_with_fallback(self, trace, leaves, args, kwargs):
        """Runs a cached call that Python may have to run."""
        if trace.checks_arguments and not trace.accepts(leaves):
            return self._call(*args, **kwargs)
        try:
            return self._staged_or_in_python(leaves, None, args, kwargs, trace)
        except OtherInput as error:
            return self._called_again(error, args, kwargs)

    def _staged_or_in_python(self, leaves, structure, args, kwargs, trace=None):
        """Runs the call as a graph, or in Python if it cannot be staged. `trace` is the trace for the call, if it is known."""
        refused, run, number = None, None, fallbacks.note_call()
        try:
            if trace is None:
                trace = self._traced(leaves, structure, args, kwargs, is_trial=True)
                self._note_skipped()
                self._fallback_seconds = None
                self._cache_with_fallback(trace, leaves, args, kwargs)
            trace.inputs(leaves)
        except RunInPython as signal:
            reason = signal.reason
        except Assumed as assumed:
            reason = self._relaxed(assumed)
        except fallbacks.Refused as error:
            refused, reason = error, error.reason
        except StagingError as error:  # inputs share memory
            reason = error
        else:
            try:
                if not trace.staging.reached:
                    return trace.run(leaves, args, kwargs)
                random = torch.get_rng_state()
                with python_calls.running() as run:
                    return trace.run(leaves, args, kwargs)
            except Assumed as assumed:
                reason, run = self._relaxed(assumed), assumed.run
            except ResultKindChanged as changed:
                reason = changed
                torch.set_rng_state(random)
                self._without(changed.code)
        text = fallbacks.reason_of(reason, span_of(self.python_function))
        is_certain = isinstance(reason, (str, AutographError, Assumed, ResultKindChanged))
        if is_certain:
            self._fallbacks.note(self.__name__, text)
        candidates = self._fallbacks.candidates(refused)
        start = time.perf_counter()
        with fallbacks.inherited(), python_calls.observed(candidates) as kinds:
            if run is not None:
                with python_calls.replaying(run):
                    result = converted_calls.call(self.python_function, args, kwargs)
            else:
                result = self.python_function(*args, **kwargs)
        seconds = time.perf_counter() - start
        self._note_python(seconds)
        if fallbacks.note_call() != number + 1:
            self._compare_calls(False)  # the staged functions that it calls stay staged
        if refused is not None and not self._fallbacks.select_python_call(text, candidates, kinds):
            self._fallbacks.refuse(refused.key, text)
        if reason is not None and not is_certain:  # the trace raised an exception, and Python did not
            self._fallbacks.note(self.__name__, text)
        self._note_skipped()
        self._last_reason, self._fallback_seconds = text, seconds
        return self._ran_in_python(reason, result)

    def _cache_with_fallback(self, trace, leaves, args, kwargs):
        if trace not in self._recent:
            self._recent.append(trace)
        elif self.caches_calls and not (fallbacks.is_inherited() or trace.staging.reached):
            self._cache(trace, leaves, args, kwargs, self._run_with_fallback)

    def _without(self, code):
        """Discards all graphs because some of them may call the function with this code, which graphs must no longer
        call."""
        with TRACING:
            self._fallbacks.refuse_python_call(code)
            self._traces.clear()
            self._families.clear()

    @property
    def fallbacks(self):
        """The calls that ran in Python: a dictionary from each reason to the number of calls."""
        self._note_skipped()
        return dict(self._fallbacks.counts)

    def graph(self, *args, **kwargs):
        """Returns the text of the graph that a call with these arguments runs."""
        return self.trace(*args, **kwargs).graph.text()

    def save(self, folder, *args, **kwargs):
        """Saves the graph that a call with these arguments runs, for `load` and `ag-run`. The saved graph assumes nothing from
        profiled calls, because without Python, nothing could run a call that contradicts an assumption."""
        function = self if self._speculation is None else Function(self.python_function, self.input_signature, self.fallback)
        saved.save(function.trace(*args, **kwargs), folder)

    def trace(self, *args, **kwargs):
        """Returns the trace that a call with these arguments runs."""
        self._newest.clear()  # Python does not run this call
        self._attempts.try_now()
        self._reuse.try_now()
        try:
            encoded = self._encoded(args, kwargs)
            found, *_ = self._with_columns(encoded, args, kwargs, self._trace_of_trees)
            return self._traced(*flatten(args, kwargs), args, kwargs) if found is None else found[1]
        except Observed:
            return self.trace(*args, **kwargs)
        except Assumed:  # an assumption about the arguments; it is relaxed now
            return self.trace(*args, **kwargs)
        except RunInPython as signal:
            if isinstance(signal.reason, Exception) and (signal.lasts or not isinstance(signal.reason, AutographError)):
                raise signal.reason from None
            raise StagingError(f"Python has to run this call of `{self.__name__}`; call it once before its graph is used") from None

    @property
    def traces(self):
        """All traces, grouped by the kind of arguments. In each group, the oldest is first."""
        found = [trace for known in self._traces.values() for trace in known]
        return found + [trace for family in self._families.values() for *_, trace in family.traces]


class VerifiedFunction(Function):
    """A staged function in shadow mode: in each call, eager Python runs on copies beside the graph, and both are
    compared."""

    caches_calls = False

    def _call(self, *args, **kwargs):
        if functions_run_eagerly() or current() is not None:
            return super()._call(*args, **kwargs)
        return check.call(self.__name__, self.python_function, super()._call, args, kwargs, eagerly)

    def _ran_in_python(self, reason, result):
        if isinstance(reason, OuterHistory):  # the copies have no autograd history
            raise check.NotComparable(result)
        return result


#: The default of `verify` for staged functions.
_VERIFY = os.environ.get("AUTOGRAPH_VERIFY", "") not in ("", "0")


def function(python_function=None, *, input_signature=None, verify=None, fallback=None, speculate=False, compile=None):
    """Makes a function run as a graph.

    With `verify=True`, or `AUTOGRAPH_VERIFY=1` in the environment, eager Python runs beside the graph, and a difference
    raises a `VerificationError`.

    Code that cannot be staged is an error at its line. With `fallback="eager"`, such a call runs in Python instead. If the
    code is in a called function that shares no state with the rest, only that function runs in Python. A
    `FallbackWarning` gives each reason once; the attribute `fallbacks` of the function counts the calls by reason.

    With `speculate=True`, Python runs and profiles the first calls. The graph assumes whatever was the same in all of
    them (directions of conditions, numbers of iterations, types, shapes, numbers), and each run checks the assumptions.
    If a call contradicts one, the run of the graph changes nothing, Python runs the call, and the next graph is made
    without this assumption. The attribute `speculation` of the function lists the assumptions.

    With `compile="inductor"`, torch's Inductor compiles the straight-line parts of the graph, and of the graph of its gradient,
    that are large enough to pay. Loops, conditions, lists and effects stay in the graph. This needs a C++ compiler: without
    one, a call raises an `AutographError` before anything has run, or runs in Python with `fallback="eager"`. The attribute
    `regions` of the function lists these parts."""
    fallbacks.checked(fallback)
    compilation.checked(compile)
    options = input_signature, fallback, speculate, compile
    if python_function is None:
        return functools.partial(
            function, input_signature=input_signature, verify=verify, fallback=fallback, speculate=speculate, compile=compile
        )
    kind = VerifiedFunction if (_VERIFY if verify is None else verify) else Function
    if isinstance(python_function, (staticmethod, classmethod)):
        return type(python_function)(kind(python_function.__func__, *options))
    if isinstance(python_function, property):
        return python_function.getter(kind(python_function.fget, *options))
    return kind(python_function, *options)


__all__ = ["Function", "function"]
