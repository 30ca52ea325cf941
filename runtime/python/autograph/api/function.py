"""`@ag.function`: functions that are traced once for each kind of arguments and then run as graphs."""

import copy
import functools
import inspect
import os
import sys
import types

import torch
from torch.utils import _pytree as pytree

from .._runtime import CachedCall, Callable
from ..capture import profile
from ..capture.staging import current
from ..errors import (
    Assumed,
    AutographError,
    Eager,
    Misfit,
    Observed,
    OtherInput,
    Restart,
    StagingError,
    Unencoded,
    Unread,
    located,
)
from ..operators import calls as converted_calls
from ..operators import python_calls
from ..shadow import check
from ..tracing import ambient, differentiable, signatures
from ..tracing.arguments import flatten, flatten_plain, names
from ..tracing.trace import TRACING, Trace, name_of, span_of
from ..tracing.tracebacks import in_user_code, warn
from ..trees.classes import observe, occur_in
from ..trees.encoding import Forest
from . import fallback as fallbacks
from . import progress, saved
from .eager import eagerly, functions_run_eagerly
from .speculation import Speculation, contradicted

_SUSPENDABLE = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR

#: The number of traces of a function after which a warning is given. It is given again after each multiple of it.
WARN_AFTER = 5


class Again(Exception):
    """Looks up the trace of a call again: numbers that could not be inputs of the graph are now part of the key."""


#: Exceptions that are no errors of a trace. Handlers of such errors must not catch them.
_SIGNALS = (fallbacks.Refused, Assumed, Again)


def _runs_graphs(settings):
    """Whether calls of staged functions run graphs, and the settings of torch are these."""
    is_other = functions_run_eagerly() or current() is not None or profile.is_active() or fallbacks.is_inherited()
    return not is_other and ambient.key() == settings


class Function(Callable):
    """A staged function. A call from a function that is being traced becomes part of its graph."""

    #: Whether calls that are like the last calls run without `_call`.
    caches_calls = True

    def __init__(self, python_function, input_signature=None, fallback=None, speculate=False):
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
        self._fallbacks = fallbacks.Fallbacks(error)
        self._speculation = Speculation() if speculate and error is None else None
        self._traces = {}
        self._families = {}
        self._refused = {}  # key -> why Python runs all calls with such arguments
        self._changing = {}  # key -> place of a number that changes between calls
        self._trees = Forest()
        self._lifted = set()  # spans of the `init_scope` whose code has changed Python state
        self._fixed = set()  # keys of places whose numbers must be known during tracing
        self._recent = None  # the trace of the last call

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
        return self.input_signature, self.fallback, self._speculation is not None

    def __ag_inline__(self, args, kwargs):
        return converted_calls.call(self.python_function, args, kwargs)

    def _call(self, *args, **kwargs):
        try:
            return self._called(args, kwargs)
        except OtherInput as error:
            return self._called_again(error, args, kwargs)

    def _called_again(self, error, args, kwargs):
        """Runs a call whose trace turned out to be invalid before anything has run."""
        for _ in self.traces:
            if not any(error.trace is trace for trace in self.traces):
                break
            try:
                return self._called(args, kwargs)
            except OtherInput as other:
                error = other
        raise error

    def _called(self, args, kwargs):
        if functions_run_eagerly():
            return self.python_function(*args, **kwargs)
        if current() is not None or profile.is_active():
            return self.__ag_inline__(args, kwargs)
        flat = flatten_plain(args, kwargs)
        if flat is None:
            if occur_in(args) or kwargs and occur_in(kwargs.values()):
                encoded = self._encoded(args, kwargs)
                if encoded is not None:
                    return self._called_with_trees(encoded, args, kwargs)
            flat = pytree.tree_flatten((args, kwargs))
        leaves, structure = flat
        if self._speculation is not None:
            if self._speculation.is_profiling:
                return self._profiled(leaves, structure, args, kwargs)
            if self._fallbacks.never is not None:
                return self._in_python(self._fallbacks.never, args, kwargs)
        if self.fallback is not None or fallbacks.is_inherited():
            return self._staged_or_in_python(leaves, structure, args, kwargs)
        try:
            trace = self._traced(leaves, structure, args, kwargs)
            if trace is not self._recent:
                self._recent = trace
            elif self.caches_calls:
                self._cache(trace, leaves, args, kwargs)
            return trace.run(leaves, args, kwargs)
        except Assumed as assumed:
            reason = self._relaxed(assumed)
        except Eager as eager:
            reason = eager.reason
        except Observed:
            return self._call(*args, **kwargs)
        return self._in_python(reason, args, kwargs)

    def _cache(self, trace, leaves, args, kwargs):
        """Lets calls like this one run the trace without `_call`."""
        cached = self.cached_call
        if cached is not None and cached.trace is trace or trace.lifted or self._speculation is not None:
            return
        direct = trace.direct
        if direct is not None and differentiable.is_needed(trace.inputs(leaves)):
            direct = None
        broken = trace.broken if trace.has_guards else None
        self.cached_call = CachedCall.of(
            trace, (args, kwargs, leaves), ambient.key(), may_run=_runs_graphs, broken=broken, run=self._run_cached, direct=direct
        )

    def _run_cached(self, trace, leaves, args, kwargs):
        try:
            return trace.run(leaves, args, kwargs)
        except OtherInput as error:
            return self._called_again(error, args, kwargs)
        except Assumed as assumed:
            reason = self._relaxed(assumed)
        except Eager as eager:
            reason = eager.reason
        return self._in_python(reason, args, kwargs)

    def _encoded(self, args, kwargs):
        """The arguments with their trees encoded as columns; None if there are none. If Python may run a part of the call,
        trees remain objects."""
        return self._trees.encoded(args, kwargs) if self._takes_trees() else None

    def _takes_trees(self):
        modes = self.input_signature, self._speculation, self.fallback
        return all(mode is None for mode in modes) and not fallbacks.is_inherited()

    def _called_with_trees(self, encoded, args, kwargs):
        unencoded, excluded = None, set()
        while encoded is not None:
            try:
                leaves, trace = self._trace_of_trees(encoded)
                return trace.run(leaves, encoded.args, encoded.kwargs, encoded)
            except Assumed as assumed:
                return self._in_python(self._relaxed(assumed), args, kwargs)
            except Eager as eager:
                return self._in_python(eager.reason, args, kwargs)
            except Unread as unread:
                self._trees.read(unread.kind, unread.name)
            except Unencoded as signal:
                unencoded = signal
                excluded |= self._trees.exclude(unencoded.kinds, encoded.roots)
            encoded = self._trees.encoded(args, kwargs)
        try:
            result = self._call(*args, **kwargs)
        except Exception:  # the call fails with objects, too
            self._trees.include(excluded)
            raise
        kinds = ", ".join(sorted(f"`{kind.__name__}`" for kind in excluded))
        message = f"`{self.__name__}` is traced again for each object of the class {kinds}, which is slow: {unencoded.message}"
        warn(message if unencoded.span is None else f"{message}\n{located(unencoded.span)}")
        return result

    def _trace_of_trees(self, encoded):
        leaves, structure = flatten(encoded.args, encoded.kwargs)
        try:
            return leaves, self._traced(leaves, structure, encoded.args, encoded.kwargs, rows=encoded.sizes(leaves))
        except _SIGNALS:
            raise
        except Eager as eager:
            if eager.reason is None:
                raise
            error = eager.reason
        except Exception as raised:  # the call may succeed with the objects
            error = raised
        kinds = {kind for kind, _ in encoded.first.tables} | {type(node) for node in encoded.roots}
        raise Unencoded(kinds, getattr(error, "message", str(error)), getattr(error, "span", None)) from None

    def _in_python(self, reason, args, kwargs):
        with eagerly():
            result = self.python_function(*args, **kwargs)
        if reason is not None:
            self._fallbacks.note(self.__name__, str(reason))
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
    def speculation(self):
        """The list of the `Assumption`s that `speculate=True` makes about the calls."""
        return [] if self._speculation is None else self._speculation.table(self.traces)

    def _staged_or_in_python(self, leaves, structure, args, kwargs):
        """Runs the call as a graph, or in Python if it cannot be staged."""
        refused, run = None, None
        try:
            trace = self._traced(leaves, structure, args, kwargs, is_trial=True)
            trace.inputs(leaves)
        except Eager as eager:
            reason = eager.reason
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
                reason = self._relaxed(assumed)
            except Misfit as misfit:
                reason = misfit
                torch.set_rng_state(random)
                self._without(misfit.code)
        text = fallbacks.reason_of(reason, span_of(self.python_function))
        is_certain = isinstance(reason, (str, AutographError, Assumed, Misfit))
        if is_certain:
            self._fallbacks.note(self.__name__, text)
        candidates = self._fallbacks.candidates(refused)
        with fallbacks.inherited(), python_calls.observed(candidates) as kinds:
            if isinstance(reason, Misfit):
                with python_calls.replaying(run):
                    result = converted_calls.call(self.python_function, args, kwargs)
            else:
                result = self.python_function(*args, **kwargs)
        if refused is not None and not self._fallbacks.select_python_call(text, candidates, kinds):
            self._fallbacks.refuse(refused.key, text)
        if reason is not None and not is_certain:  # the trace raised an exception, and Python did not
            self._fallbacks.note(self.__name__, text)
        return result

    def _without(self, code):
        """Discards all graphs, because some may call the function with this code, which graphs must no longer call."""
        with TRACING:
            self._fallbacks.refuse_python_call(code)
            self._traces.clear()
            self._families.clear()

    @property
    def fallbacks(self):
        """The calls that ran in Python: a dictionary from each reason to the number of calls."""
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
        try:
            while (encoded := self._encoded(args, kwargs)) is not None:
                try:
                    return self._trace_of_trees(encoded)[1]
                except Unread as unread:
                    self._trees.read(unread.kind, unread.name)
                except Unencoded as unencoded:
                    self._trees.exclude(unencoded.kinds, encoded.roots)
            return self._traced(*flatten(args, kwargs), args, kwargs)
        except Observed:
            return self.trace(*args, **kwargs)
        except Assumed:  # an assumption about the arguments; it is relaxed now
            return self.trace(*args, **kwargs)
        except Eager:
            raise StagingError(f"Python has to run this call of `{self.__name__}`; call it once before its graph is used") from None

    @property
    def traces(self):
        """All traces, oldest first for each kind of arguments."""
        found = [trace for known in self._traces.values() for trace in known]
        return found + [trace for family in self._families.values() for *_, trace in family.traces]

    def _traced(self, leaves, structure, args, kwargs, is_trial=False, rows=None):
        """The trace for a call. `rows` are the dimensions of leaves that are numbers of rows of trees."""
        try:
            with TRACING:
                return self._trace_for(leaves, structure, args, kwargs, is_trial, rows)
        except _SIGNALS:
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
        except Again:
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
        except _SIGNALS:
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
            return self._find_or_create(("signature", kind), lambda: new_trace(args, kwargs, sizes))
        shapes = signatures.shapes(leaves, rows)
        known = self._live((kind, shapes))
        if known is not None:
            return known
        family = self._families.setdefault(kind, signatures.Family())
        if self._speculation is not None and not family.seen:
            family.seen = self._speculation.arguments.shapes(structure, leaves)
        for trace in family.relaxed(shapes):
            if not trace.broken()[0]:
                return trace
        sizes = family.unknown(shapes)
        if sizes is not None:
            try:
                trace = new_trace(args, kwargs, {**(rows or {}), **sizes})
            except _SIGNALS:
                raise
            except Exception:  # this code needs known shapes
                family.is_fixed = True
            else:
                family.add(sizes, trace)
                return trace
        if rows is None and self._takes_trees() and observe(leaves):
            raise Observed
        family.seen.append(shapes)
        return self._find_or_create((kind, shapes), lambda: new_trace(args, kwargs, rows))

    def _live(self, key):
        """Returns a trace for this key whose guards hold."""
        changed = []
        for trace in reversed(self._traces.get(key, ())):
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

    def _find_or_create(self, key, create):
        known = self._live(key)
        if known is None:
            if key in self._refused:
                raise Eager(self._refused[key])
            self._warn(key)
            known = self._created(key, create)
            self._traces.setdefault(key, []).append(known)
        return known

    def _created(self, key, create):
        try:
            return create()
        except Eager as eager:
            if eager.lasts:
                self._refused[key] = eager.reason
            raise

    def _new_trace(self, args, kwargs, unknown=None, is_trial=False):
        """Returns a new trace. Numbers that change between calls become parameters of its graph if the code can be staged with
        them."""
        known = self._changing if self._speculation is None else {**self._speculation.attributes.varying, **self._changing}
        changing = [place for key, place in known.items() if key not in self._fixed]
        try:
            return self._staged(args, kwargs, changing, unknown, is_trial)
        except (Assumed, Again):
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
            if not (inputs and trace.staging.assumptions):  # one could fix the value of an input
                return trace
        except Exception:
            if not inputs:
                raise
        arguments.fix(structure, inputs)
        raise Again

    def _assuming(self, args, kwargs, changing, unknown, is_trial, inputs):
        expected = self._speculation.expected
        try:
            return self._trace(args, kwargs, changing, unknown, is_trial, expected, inputs)
        except (Exception, Eager):
            if not expected:
                raise
        return self._trace(args, kwargs, changing, unknown, is_trial, {}, inputs)

    def _trace(self, args, kwargs, changing, unknown, is_trial, expected=None, inputs=()):
        optimizers, calls = [], self._fallbacks.python_calls if is_trial else None
        while True:
            try:
                with progress.staging(self.__name__):
                    trace = Trace(self.python_function, args, kwargs, changing, unknown, optimizers, calls, expected, inputs)
            except Restart as restart:
                optimizers.append(restart.optimizer)
                continue
            # A trace that creates state is valid for one call. As in TensorFlow, the next trace uses that state, and is
            # kept even if the same `init_scope` changes state again.
            trace.is_spent = bool(trace.lifted - self._lifted)
            self._lifted |= trace.lifted
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


class VerifiedFunction(Function):
    """A staged function in shadow mode: in each call, eager Python runs on copies beside the graph, and both are
    compared."""

    caches_calls = False

    def _call(self, *args, **kwargs):
        if functions_run_eagerly() or current() is not None:
            return super()._call(*args, **kwargs)
        return check.call(self.__name__, self.python_function, super()._call, args, kwargs, eagerly)


#: The default of `verify` for staged functions.
_VERIFY = os.environ.get("AUTOGRAPH_VERIFY", "") not in ("", "0")


def function(python_function=None, *, input_signature=None, verify=None, fallback=None, speculate=False):
    """Makes a function run as a graph.

    With `verify=True`, or `AUTOGRAPH_VERIFY=1` in the environment, eager Python runs beside the graph, and a difference
    raises a `VerificationError`.

    Code that cannot be staged is an error at its line. With `fallback="eager"`, such a call runs in Python instead. If the
    code is in a called function that shares no state with the rest, only that function runs in Python. A
    `FallbackWarning` gives each reason once; the attribute `fallbacks` of the function counts the calls by reason.

    With `speculate=True`, Python runs and profiles the first calls. The graph assumes whatever was the same in all of
    them (directions of conditions, numbers of iterations, types, shapes, numbers), and each run checks the assumptions.
    If a call contradicts one, the run of the graph changes nothing, Python runs the call, and the next graph is made
    without this assumption. The attribute `speculation` of the function lists the assumptions."""
    fallbacks.checked(fallback)
    options = input_signature, fallback, speculate
    if python_function is None:
        return functools.partial(
            function, input_signature=input_signature, verify=verify, fallback=fallback, speculate=speculate
        )
    kind = VerifiedFunction if (_VERIFY if verify is None else verify) else Function
    if isinstance(python_function, (staticmethod, classmethod)):
        return type(python_function)(kind(python_function.__func__, *options))
    if isinstance(python_function, property):
        return python_function.getter(kind(python_function.fget, *options))
    return kind(python_function, *options)


__all__ = ["Function", "function"]
