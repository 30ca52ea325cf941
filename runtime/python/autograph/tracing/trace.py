"""Traces: runs a function once to get its graph, and runs the graph for calls."""

import functools
import inspect
import threading
from contextlib import contextmanager

import torch

from ..capture import data_attribute, paths, permanent, profile, scalars
from ..capture.grad_attribute import Outside
from ..capture.places import Contents, Items
from ..capture.staging import Staging
from ..conversion import spans
from ..errors import (
    Assumed,
    AutographError,
    Caught,
    CheckAfterEffect,
    Decide,
    NeedsPython,
    OtherInput,
    RandomStateChanged,
    Refuted,
    RunInPython,
    StagingError,
    Unconverted,
    Undecided,
    Unreachable,
    Unreached,
    Unroll,
)
from ..interception import module_changes, tensor_attributes
from ..interception.patches import recording, tracing
from ..operators import attributes, calls, copied_items, sharing
from ..operators import python_calls as python_calls_
from ..operators.changes import line_of_change
from ..operators.for_stmt import check_counters
from ..operators.optimizers import prepare
from ..operators.recursion import Recursion
from ..record import waits
from ..record.queries import checked_late, has_effects, has_random, has_repetition, overwrites
from . import ambient, applied, checks, differentiable, direct, graphs, overlap, probes, state_guards
from . import trees as trees_
from .arguments import flatten, names, unflatten
from .backoff import Backoff
from .compilation import LIBTORCH, strides_of
from .containers import Container, containers_in, copies
from .generators import Generators
from .guards import Guards
from .number_inputs import NumberInputs
from .outer_lists import OuterLists
from .result import Result
from .state import state_of
from .tracebacks import span_of_error, with_source_traceback

#: The lock for tracing. Tracing temporarily changes global and user state, so only one thread traces at a time.
TRACING = threading.RLock()


class Trace:
    """One graph of a function, with the guards under which it can run in place of the function."""

    def __init__(
        self,
        python_function,
        args,
        kwargs,
        changing=(),
        unknown=None,
        optimizers=(),
        python_calls=None,
        expected=None,
        inputs=(),
        compiler=LIBTORCH,
    ):
        """Traces a call. `python_calls` maps the code of functions that the graph calls to their `PythonCall`. If it is not
        None, the function has a fallback: Python runs the call if tracing raises an error, so tracing must leave no
        effects. `expected` contains the outcomes that the graph may assume (`capture/assumptions.py`); None without
        speculation. `inputs` contains the indexes of the arguments that are Python numbers and inputs of the graph. `compiler`
        makes the plans of the graphs (`compilation.py`)."""
        self._compiler = compiler
        self.is_trial = python_calls is not None
        self.expected = None if expected is None else dict(expected)
        self.number_inputs = frozenset(inputs)
        self.runs = Backoff()  # runs that contradict an assumption count as failures
        self.cached_calls = 0  # the number of `CachedCall`s that run this trace
        self.growing = []  # lists from outside that grow below a decided condition
        recursive, unrolled, draws, decisions, catches, refuted, unreached = {}, set(), False, set(), False, {}, set()
        lost = {}  # id -> the place of an object that a former attempt has changed, and that cannot be restored
        while True:
            try:
                again = recursive, unrolled, draws, decisions, catches, refuted, unreached
                with scalars.python_numbers(), without_lasting_changes(self.is_trial, span_of(python_function)):
                    return self._trace(python_function, args, kwargs, changing, unknown, optimizers, *again, python_calls or {})
            except RandomStateChanged:
                draws = True
            except Unconverted:
                pass
            except Recursion as found:
                recursive[found.code] = found.widened
            except Unroll as found:
                unrolled.add(found.code)
            except Decide as found:
                decisions.add(found.span)
                if found.growing is not None:
                    self.growing.append(self.lists.original_of(found.growing))
            except Undecided:
                decisions = None
            except Refuted as found:
                refuted[found.assumption] = found.examples
            except Unreached as found:
                unreached |= found.leaves
                continue
            except CheckAfterEffect as found:
                for point in found.points:
                    del self.expected[point]
            except Caught:
                if catches:
                    raise
                catches = True
            except NeedsPython as error:
                lost.update(self.staging.objects.unrestorable)
                if self.is_trial or lost:
                    raise
                raise RunInPython(error, lasts=True) from None
            except RunInPython:
                lost.update(self.staging.objects.unrestorable)
                if lost:
                    raise StagingError(checks.unrestorable(next(iter(lost.values()))), span_of(python_function)) from None
                raise
            finally:
                lost.update(self.staging.objects.unrestorable)
                if self.is_trial and self.staging.random_after is not None:
                    torch.set_rng_state(self.staging.random_after)
            unreached = set()  # the next trace may take another path, on which `backward` calls have other numbers

    def _trace(
        self,
        python_function,
        args,
        kwargs,
        changing,
        unknown,
        optimizers,
        recursive,
        unrolled,
        draws,
        decisions,
        catches,
        refuted,
        unreached,
        python_calls,
    ):
        self.staging = staging = Staging(name_of(python_function), recursive, unrolled, decisions, self.expected)
        staging.caught = [] if catches else None
        staging.refuted = refuted.keys()
        for examples in refuted.values():
            staging.sizes.hints.update(examples)
        staging.unreached = unreached
        staging.python_calls = staging.objects.in_python = python_calls
        staging.has_unknown_sizes = any(group is not None for dims in (unknown or {}).values() for group in dims.values())
        staging.has_fallback = self.is_trial
        leaves, structure = flatten(args, kwargs)
        self.arguments = []
        fakes = []
        for index, (path, leaf) in enumerate(zip(names(python_function, args, kwargs), leaves)):
            if isinstance(leaf, torch.Tensor):
                tensor_attributes.check_argument(leaf, span_of(python_function))
                if id(leaf) not in staging.captures:
                    capture = staging.argument(leaf, path, (unknown or {}).get(index))
                    self.arguments.append((index, capture))
                leaf = staging.captures[id(leaf)].fake
            elif index in self.number_inputs:
                capture, leaf = staging.number_argument(leaf, path)
                self.arguments.append((index, capture))
            else:
                staging.objects.watch(leaf)
            fakes.append(leaf)
        staging.probe = functools.partial(probes.computed, staging)
        staging.objects.watch(python_function)
        staging.objects.watch_generators()
        if draws:
            staging.objects.heap.compare_all()
        args, kwargs = copies(trees_.stand_ins(staging, unflatten(fakes, structure)))
        self.containers = [Container(staging, copy) for copy in containers_in((args, kwargs))]
        staging.outside = frozenset(staging.objects.kept)
        before = staging.objects.snapshot()
        self.lists = lists = staging.outer_lists = OuterLists(staging)
        try:
            numbers = NumberInputs(staging, staging.objects.numbers(changing))
            lists.install()
            try:
                result = stage(staging, python_function, args, kwargs, optimizers)
            except Exception as error:
                checks.check_draws(staging)
                if not isinstance(error, AutographError):
                    checks.raise_caught(staging)
                elif isinstance(error, StagingError) and not self.is_trial:
                    if checks.mixed(staging, staging.objects.changed_outside(before)):
                        raise RunInPython(error, lasts=True) from None  # Python runs the call without this error, too
                is_final = not staging.has_unknown_sizes  # otherwise the call is traced again, with known sizes
                if is_final and not isinstance(error, AutographError):
                    is_assumed = staging.assumptions or staging.path.made or staging.conditional is error
                    if is_assumed or staging.refused_operands or self._has_changes(staging, before, numbers):
                        raise RunInPython(error) from None  # Python raises it too, or this call contradicts an assumption
                raise
            sharing.check_dictionaries(staging)
            copied_items.check_dictionaries(staging)
            checks.check_draws(staging)
            checks.raise_caught(staging)
            checks.check_effects(staging)
            module_changes.check(staging)
            changed = lists.changes(staging.objects.changed_outside(before), numbers)
            python_calls_.check(staging, python_function, changed)
            is_effect = any(isinstance(place, Contents) for place in changed)
            if staging.decisions and (is_effect or not staging.is_replayable()):
                raise Undecided
            if staging.caught and (is_effect or staging.drawn or has_effects(staging.record.entry)):
                raise staging.caught[0]
        finally:
            checks.restore(staging, before)
        contents = [place for place in changed if isinstance(place, Contents)]
        message = checks.unrepeatable(staging, contents)
        if message is not None:
            span = line_of_change(contents, lambda: stage(staging, python_function, args, kwargs, optimizers))
            checks.restore(staging, before)
            raise StagingError(message, span or span_of(python_function))
        mixed = checks.mixed(staging, contents)
        if mixed:  # the graph would draw again, after the trace
            span = line_of_change(mixed, lambda: stage(staging, python_function, args, kwargs, optimizers))
            checks.restore(staging, before)
            message = f"this changes {mixed[0]}, from which the function also draws numbers"
            help = "draw this value outside and pass it as an argument"
            raise RunInPython(StagingError(f"{message}\nhelp: {help}", span), lasts=True)
        checks.check_gradients(staging)
        self.guards = Guards(staging)
        self.state = state_of(staging, changed, numbers, self.guards)
        for container in self.growing:
            if staging.objects.only_grows(container):  # no result depends on its items; later calls may append to it
                self.guards.skip(Items(container).key())
        self.guards.read()
        self.span = span_of(python_function)
        self._finish(result, self.span)
        self.guards.done()
        #: The guards, and the sources of the inputs, as Rust reads them.
        self.state_guards = state_guards.compiled(self)
        #: The `init_scope` statements whose code has changed Python state. If there are any, the trace is valid for one call.
        self.changed_while_paused = staging.changed_while_paused
        self.is_spent = False

    def _has_changes(self, staging, before, numbers):
        """Returns whether a trace that has raised an exception has changed Python state, tensors from outside or gradients. The
        trace undoes this, and Python then repeats the call, so that the changes before the exception remain."""
        staging.objects.heap.compare_all()
        bases = [c.fake.__dict__["_ag_view"].base for c in staging.captures.values() if c.fake is not None]
        if any(base.source is not None and base.value is not base.source.param for base in bases):
            return True
        if staging.gradients.values or any(container.is_changed() for container in self.containers):
            return True
        return bool(self.lists.changes(staging.objects.changed_outside(before), numbers))

    def _finish(self, result, span):
        staging = self.staging
        with recording(staging), torch.no_grad():
            gradients = {b.source: g for b, g in staging.gradients.values.items() if b.source is not None}
            self.gradients = list(gradients)
            self.changed = [container for container in self.containers if container.is_changed()]
            contents = tuple(container.contents() for container in self.changed)
            value = result, tuple(change.value for change in self.state), tuple(gradients.values()), contents
            self.result = Result(staging, value, self.containers, self.lists, span)
            self.result.check_leaves(staging)
            for place, container in self.lists.holding(self.result.outer_containers):
                self.guards.expect_object(place, container)
            self.lists = None
            operands = list(self.result.operands)
            self.writes = []
            for capture in staging.captures_in_order():
                if capture.fake is None:
                    continue
                base = capture.fake.__dict__["_ag_view"].base
                if staging.is_written(base):
                    self.writes.append(capture)
                    operands.append(base.value)
            captures = staging.captures_in_order()
            #: For each input that is used on some paths only: its index, and the index of the result that is true if the run
            #: has used it.
            self.uses = []
            for base, used in paths.used(staging, operands):
                if scalars.is_staged(used):
                    self.uses.append((captures.index(base.source), len(operands)))
                    operands.append(scalars.lower(staging, used))
        #: For each capture whose `.data` a run assigns: the capture whose memory it gets, or None if it gets new
        #: memory.
        self.assigned = {}
        for capture in self.writes:
            base = capture.fake.__dict__["_ag_view"].base
            if base in staging.aliases.shared:
                self.assigned[capture] = data_attribute.shares_with(staging, base)
        written = [None] * len(operands)
        for position, capture in enumerate(self.writes, len(self.result.operands)):
            if capture not in self.assigned:
                written[position] = captures.index(capture)
        self.operands = operands
        self._gradients = {}
        waits.delay(staging.record.entry)
        self.graph, exceptions, computed = graphs.graph(staging, operands, written)
        #: The outputs that have a history although no input requires a gradient.
        self.histories = [index for index in computed if operands[index] not in self.result.leaves]
        #: The strides of the inputs of the call that was traced. Most later calls have the same.
        self.strides = [strides_of(capture.tensor) for capture in captures]
        #: The graph that runs. `graph`, which is shown and exported, has the loops of the program.
        self.compiled_graph = self.graph
        if self.graph.has_independent_loops:
            self.compiled_graph, exceptions, _ = graphs.graph(staging, operands, written, batches_loops=True)
        self.plan = self.planned(self.compiled_graph, exceptions)
        self.captures = captures
        self.is_random = has_random(staging.record.entry)
        late = checked_late(staging.record.entry, staging.assumptions, staging.undone)
        #: Whether a run may contradict an assumption after it has had effects. Python must then not repeat these
        #: effects.
        self.replays = bool(late) and staging.is_replayable()
        #: Whether Python can run a call that contradicts an assumption.
        self.may_run_in_python = not late or self.replays
        #: The checks of assumptions from profiled calls: message of the check -> point of the assumption. A run that
        #: fails such a check has no effect.
        self.points = staging.path.made
        #: The random number generators to restore after a run that contradicts an assumption.
        self.generators = None
        if self.points or staging.assumptions and self.may_run_in_python:
            self.generators = Generators(staging, self.is_random)
        #: Whether Python can repeat the call if a run raises an exception, because the run has had no effect.
        self.is_repeatable = not has_effects(staging.record.entry)
        if self.is_trial and staging.assumptions and not self.may_run_in_python:
            message = "a run that contradicts an assumption after output or a call of Python could not be repeated"
            raise StagingError(f"{message}: {sorted(staging.assumptions)[0]}", span)
        self.overwrites = overwrites(staging.record.entry)
        self.positions = {id(capture): index for index, capture in self.arguments}
        #: For each tensor from outside whose `.grad` the trace reads: the index of the argument, the place of the tensor, or
        #: the tensor, and whether the gradient was None.
        self.argument_gradients, self.placed_gradients, self.gradient_guards = [], [], []
        for capture, is_none in staging.gradients.guards.values():
            if capture.path is not None:
                self.argument_gradients.append((self.positions[id(capture)], is_none))
            elif capture.place is not None:
                self.placed_gradients.append((capture.place, is_none))
            else:
                self.gradient_guards.append((capture.tensor, is_none))
        self.flags = [(base.source, flag) for base, flag in staging.flags.items() if flag != base.was_leaf]
        self.hooks = list(staging.gradients.hooks.values())
        trees_.check(staging, self, span)
        #: For each write, whether autograd records it. The outputs `without_history` are those of the other writes.
        self.recorded = [capture.fake.__dict__["_ag_view"].base.is_recorded for capture in self.writes]
        written = enumerate(self.recorded, len(self.result.operands))
        self.without_history = {index for index, is_recorded in written if not is_recorded}
        #: The inputs that are the `.grad` of an argument: the index of the input -> the index of the argument.
        places = [(index, c.place) for index, c in enumerate(captures) if isinstance(c.place, Outside)]
        self.gradient_inputs = {i: self.positions[id(p.capture)] for i, p in places if p.capture.path is not None}
        indexes = [self.gradient_inputs.get(i, self.positions.get(id(capture))) for i, capture in enumerate(captures)]
        #: For each input: the index of the argument that it is, or of which it is the gradient, and its capture.
        self.sources = list(zip(indexes, captures))
        self.places = [id(capture) for capture in captures]
        #: Whether a run changes nothing outside: it only returns a value.
        self.only_returns = not (self.writes or self.flags or self.gradients or self.state or self.changed or self.histories)
        #: Whether the state of torch's generator must be restored after a run that raises an exception. It must be
        #: restored if Python then repeats the call, because the user's code may catch the exception, or because Python
        #: changes state before it raises the exception.
        self.restores_random = False
        #: Whether code of the function may catch an exception.
        self.may_catch = any(map(spans.has_handlers, staging.objects.codes))
        if self.is_random and self.is_repeatable and (not self.only_returns or self.may_catch):
            self.restores_random = not torch.cuda.is_available()
        #: Whether operations have a history although the call has none: they are in `with torch.enable_grad()`.
        self.enables_grad = staging.enables_grad and not torch.is_inference_mode_enabled()
        #: The indexes of arguments that are leaves on which a gradient of the graph depends. A call with computed tensors in
        #: their places needs another trace.
        self.leaf_arguments = [index for index, capture in self.arguments if capture in staging.leaf_sources]
        #: Whether `accepts` must be asked for each call.
        self.checks_arguments = bool(self.leaf_arguments or self.argument_gradients)
        #: The forms of the values of a run; None if only Python can run the graph (`direct.py`).
        self.forms = direct.forms(self)
        for _, capture in self.arguments:
            capture.tensor = None

    def planned(self, graph, exceptions, strides=None):
        """Returns the plan of a graph of this trace. `strides` are those of its inputs. None if its first inputs are those of the
        trace."""
        return self._compiler.plan(graph, self.staging.callbacks, exceptions, self.strides if strides is None else strides)

    @property
    def is_comparable(self):
        """Whether Python may run a call to compare its time with that of the graph. Loops and recursion are not compared: they
        may take Python many times longer, or exceed its recursion limit. Nor are effects in a group of processes, which might
        wait for each other."""
        is_alone = self.is_repeatable or not ambient.has_group()
        return is_alone and not (self.changed_while_paused or has_repetition(self.staging.record.entry))

    @property
    def compiles_late(self):
        """Whether a graph may be compiled when it first runs. Otherwise, the call that traces it compiles it."""
        return self._compiler is LIBTORCH

    def gradient(self, kind, needed):
        """Returns the cached result of `kind(self, needed)`, which builds gradient graphs. `needed` contains a boolean for
        each input: whether it needs a gradient."""
        key = kind, needed
        if key not in self._gradients:
            with TRACING:
                if key not in self._gradients:
                    self._gradients[key] = kind(self, needed)
        return self._gradients[key]

    def without_uses(self, batches_loops=False):
        """Returns the graph without the results for `uses`."""
        if not self.uses:
            return self.compiled_graph if batches_loops else self.graph
        operands = self.operands[: len(self.operands) - len(self.uses)]
        return graphs.graph(self.staging, operands, [None] * len(operands), batches_loops=batches_loops)[0]

    def broken(self):
        """Returns whether a guard does not hold in the current state of Python, and the places whose values have changed."""
        if self.is_spent:
            return True, []
        if not self.guards.are_outgrown() and self.state_guards.hold():
            return False, []
        if self.gradient_guards and any((tensor.grad is None) != none for tensor, none in self.gradient_guards):
            return True, []
        if self.hooks and any(hook.is_changed() for hook in self.hooks):
            return True, []
        broken, places = self.guards.broken()
        if self.placed_gradients and not broken:  # the places have tensors
            broken = any((place.state().grad is None) != none for place, none in self.placed_gradients)
        return broken, places

    def accepts(self, leaves):
        """Returns whether the trace is valid for the autograd state of these arguments, besides the key."""
        if not all(leaves[index].is_leaf and not leaves[index]._backward_hooks for index in self.leaf_arguments):
            return False
        read = [(leaves[index], none) for index, none in self.argument_gradients]
        return all((leaf.is_leaf or leaf.retains_grad) and (leaf.grad is None) == none for leaf, none in read)

    def inputs(self, leaves):
        """Returns the inputs of the graph. Raises an error if an input that the graph writes to shares memory with another."""
        tensors = self.state_guards.inputs_of(leaves)
        if self.writes:
            in_place = [capture for capture in self.writes if capture not in self.assigned] if self.assigned else self.writes
            overlap.check(self.staging.name, self.span, self.captures, tensors, in_place)
        return tensors

    def run(self, leaves, args, kwargs, trees=None):
        """Runs the graph with these arguments. `trees` are those whose columns are in the arguments (`Encoded`)."""
        if not self.runs.should_try():
            raise Assumed(self.runs.reason)
        try:
            return self.runs.succeeded(self._run(leaves, args, kwargs, trees))
        except Assumed as assumed:
            self.runs.failed(str(assumed))
            raise

    def _run(self, leaves, args, kwargs, trees):
        tensors = self.inputs(leaves)
        for capture, flag in self.flags:
            if flag:
                self._input(capture, leaves).requires_grad_()
        random = torch.get_rng_state() if self.restores_random else None
        numbers = self.generators.state() if self.generators is not None else None
        effects = None
        try:
            if self.replays:
                with python_calls_.continued() as effects:
                    outputs = self._outputs(tensors)
            else:
                outputs = self._outputs(tensors)
        except OtherInput as error:
            self.is_spent = True
            error.trace = self
            raise
        except Exception as error:
            if isinstance(error, AssertionError) and str(error) in self.points:
                self._undo(leaves, numbers)
                raise Assumed(str(error), self.points[str(error)]) from None
            if isinstance(error, AssertionError) and str(error) in self.staging.assumptions:
                if not self.may_run_in_python:
                    raise _contradicted(error) from None
                self._undo(leaves, numbers)
                raise Assumed(str(error), run=effects if effects is not None and effects.has_effects() else None) from None
            is_repeatable = self.is_repeatable and (not self.is_random or random is not None)
            if is_repeatable and (not self.only_returns or self.may_catch):
                if random is not None:
                    torch.set_rng_state(random)
                self._undo(leaves, numbers)
                raise Assumed(f"the graph raises an exception, {type(error).__name__}") from None
            raise with_source_traceback(error) from error.__cause__
        outside = dict(zip(self.places, tensors))
        if len(self.containers) == 1:
            outside[id(self.containers[0])] = kwargs
        else:
            found = containers_in((args, kwargs))
            found = found if trees is None else map(trees.original, found)
            outside.update(zip(map(id, self.containers), found))
        if trees is not None:
            outside.update(trees.nodes)
        if self.only_returns:
            return self.result.value(outputs, outside)[0]
        return applied.apply(self, outputs, outside)

    def _outputs(self, tensors):
        needed = differentiable.needed(tensors)
        if needed is None and self.enables_grad:
            with torch.enable_grad():
                needed = differentiable.needed(tensors)
                return self.plan.run(tensors) if needed is None else differentiable.run(self, tensors, needed)
        return self.plan.run(tensors) if needed is None else differentiable.run(self, tensors, needed)

    def _undo(self, leaves, numbers):
        """Undoes the changes that `run` has made before the graph raised an exception."""
        if self.generators is not None:
            self.generators.restore(numbers)
        for capture, flag in self.flags:
            self._input(capture, leaves).requires_grad_(not flag)

    def _input(self, capture, leaves):
        index = self.positions.get(id(capture))
        if index is not None:
            return leaves[index]
        return capture.current_value()


def _contradicted(error):
    """Returns the error for a run that contradicts an assumption after effects that cannot be undone."""
    message = f"{error}; this call contradicts the assumption after side effects, so Python cannot repeat it"
    return with_source_traceback(StagingError(f"{message}\n{REMEDY}", span_of_error(error)), error.locations)


REMEDY = "help: move calls of Python, such as `ag.py_function` and collectives, behind this line"


@contextmanager
def without_lasting_changes(is_trial, span):
    """In this block, a change that runs of the graph would not repeat raises an error. `is_trial`: the trace may be
    abandoned, so it also restores the random number generators. `span` is the function that is traced."""
    with permanent.refused(is_trial), ambient.kept(is_trial, span):
        yield


def stage(staging, python_function, args, kwargs, optimizers=()):
    """Runs the function on fake tensors and records all operations. Before that, creates the state of these optimizers."""
    try:
        with tracing(staging), profile.observing(staging.path if staging.path.expected else None):
            if staging.trees is not None:
                staging.trees.begin()
            for optimizer in optimizers:
                prepare(staging, optimizer)
            result = calls.call(python_function, args, kwargs)
            check_counters(staging)
            return trees_.returned(staging, result)
    except Unreachable:
        return None
    finally:
        attributes.remove(staging)


def span_of(function):
    """Returns the span of the first line of a function; None if it has no code."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return None if code is None else (code.co_filename, code.co_firstlineno, 0, code.co_firstlineno, 1)


def name_of(function):
    return getattr(function, "__name__", type(function).__name__)
