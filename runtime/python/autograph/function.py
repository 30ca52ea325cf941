"""`@ag.function`: a function that is traced once for each kind of arguments and then runs as a graph."""

import functools
import logging
import types
import warnings

import torch
from torch.utils import _pytree as pytree

from . import differentiable, signatures
from .capture import lower, scalars
from .capture.record import has_random
from .capture.functions import Interception
from .capture.tensors import Recorder
from .errors import Dead, StagingError, at_places, in_user_code
from .operators import calls
from .operators.lists import List
from .operators.variables import Maybe, UndefinedReturnValue
from .state import state_of
from .staging import Staging, current, staging_of

_SHAPES = logging.getLogger("torch._subclasses.fake_tensor")

#: So many traces of one function are suspicious.
WARN_AFTER = 5


class Function:
    """A staged function. Called while another is staged, it becomes part of that one."""

    def __init__(self, python_function, input_signature=None):
        functools.update_wrapper(self, python_function, updated=())
        self.__name__ = name_of(python_function)
        self.python_function = python_function
        self.input_signature = input_signature
        self._traces = {}
        self._families = {}
        self._changing = set()  # places of Python's state whose numbers change between calls

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        return types.MethodType(self, instance)

    def __ag_inline__(self, args, kwargs):
        return calls.call(self.python_function, args, kwargs)

    def __call__(self, *args, **kwargs):
        if current() is not None:
            return self.__ag_inline__(args, kwargs)
        return self.trace(*args, **kwargs).run(args, kwargs)

    def graph(self, *args, **kwargs):
        """The text of the graph that a call with these arguments runs."""
        return self.trace(*args, **kwargs).graph.text()

    def trace(self, *args, **kwargs):
        """The trace that a call with these arguments runs."""
        try:
            return self._trace_for(args, kwargs)
        except RecursionError:
            raise StagingError(
                f"`{self.__name__}` does not come to an end while it is staged: a function that calls itself may do so "
                "under conditions of Python only"
            ) from None
        except Exception as error:
            raise in_user_code(error) from error.__cause__

    def _trace_for(self, args, kwargs):
        leaves, structure = flatten((args, kwargs))
        if self.input_signature is not None:
            sizes = signatures.checked(self.__name__, self.input_signature, leaves)
            kind = (torch.is_grad_enabled(), torch.get_default_dtype(), structure, *signatures.kinds(leaves))
            return self._found(("signature", kind), lambda: self._new_trace(args, kwargs, sizes))
        kind = (structure, torch.is_grad_enabled(), torch.get_default_dtype(), *signatures.kinds(leaves))
        shapes = signatures.shapes(leaves)
        known = self._live((kind, shapes))
        if known is not None:
            return known
        family = self._families.setdefault(kind, signatures.Family())
        trace = family.relaxed(shapes)
        if trace is not None and not trace.broken():
            return trace
        sizes = family.unknown(shapes)
        if sizes is not None:
            try:
                trace = self._new_trace(args, kwargs, sizes)
            except Exception:  # this code needs to know its shapes
                family.is_fixed = True
            else:
                family.add(sizes, trace)
                return trace
        family.seen.append(shapes)
        return self._found((kind, shapes), lambda: self._new_trace(args, kwargs))

    def _live(self, key):
        """A trace that was made for this and is still right."""
        for trace in self._traces.get(key, ()):
            broken = trace.broken()
            if not broken:
                return trace
            self._changing.update(broken)
        return None

    def _found(self, key, make):
        known = self._live(key)
        if known is None:
            self._warn(key)
            known = make()
            self._traces.setdefault(key, []).append(known)
        return known

    def _new_trace(self, args, kwargs, unknown=None):
        return Trace(self.python_function, args, kwargs, self._changing, unknown)

    def _warn(self, key):
        """Repeated traces are slow: says what is new about the call."""
        count = sum(map(len, self._traces.values()))
        if not count or count % WARN_AFTER:
            return
        last = next(reversed(self._traces))
        named = [f"{old} became {new}" for old, new in zip(signatures.flat(last), signatures.flat(key)) if old != new]
        reason = "; ".join(named[:3]) or "state outside of it changed"
        warnings.warn(
            f"`{self.__name__}` is traced for the {count + 1}th time, which is slow: {reason}. "
            "Pass numbers that change as tensors.",
            stacklevel=5,
        )


def name_of(function):
    return getattr(function, "__name__", type(function).__name__)


def flatten(tree):
    leaves, structure = pytree.tree_flatten(tree)
    return leaves, structure


class Trace:
    """One graph of a function, and how a call of it is made a run of the graph."""

    def __init__(self, python_function, args, kwargs, changing=(), unknown=None):
        self.staging = staging = Staging(name_of(python_function))
        leaves, structure = flatten((args, kwargs))
        self.arguments = []
        stand_ins = []
        for index, (path, leaf) in enumerate(zip(_paths((args, kwargs)), leaves)):
            if isinstance(leaf, torch.Tensor):
                if id(leaf) not in staging.captures:
                    capture = staging.argument(leaf, path, (unknown or {}).get(index))
                    self.arguments.append((index, capture))
                leaf = staging.captures[id(leaf)].fake
            else:
                staging.objects.watch(leaf)
            stand_ins.append(leaf)
        staging.objects.watch(python_function)
        args, kwargs = pytree.tree_unflatten(stand_ins, structure)
        before = staging.objects.snapshot()
        try:
            for place in staging.objects.numbers(changing):
                place.restore(staging.number_in(place, scalars.kind_of(place.state())))
            result = stage(staging, python_function, args, kwargs)
            changed = staging.objects.changed(before)
            new = [place.state() for place in changed]
        finally:
            for place, state in staging.objects.changed(before).items():
                place.restore(state)
        self.state = state_of(staging, changed, new)
        self._finish(result)

    def _finish(self, result):
        staging = self.staging
        with staging_of(staging), Recorder(staging), Interception(staging), torch.no_grad():
            self.result = Result(staging, (result, [change.value for change in self.state]))
            operands = list(self.result.operands)
            self.writes = []
            for capture in staging.captures_in_order():
                if capture.fake is None:
                    continue
                base = capture.fake.__dict__["_ag_view"].base
                if base.value is not capture.param:
                    self.writes.append(capture)
                    operands.append(base.value)
            self.gradients = []
            for base, gradient in staging.gradients.items():
                if base.source is not None:
                    self.gradients.append((base.source, gradient is not None))
                    if gradient is not None:
                        operands.append(staging.value_of(gradient))
        captures = staging.captures_in_order()
        kinds = [("return", 0)] * len(operands)
        for position, capture in enumerate(self.writes, len(self.result.operands)):
            kinds[position] = ("write", captures.index(capture))
        self.operands = operands
        self.is_random = has_random(staging.record.entry)
        self._backward = {}
        self.graph, exceptions = lower.graph(staging, operands, kinds)
        self.plan = self.graph.compile(staging.callbacks, exceptions)
        self.captures = captures
        self.positions = {id(capture): index for index, capture in self.arguments}
        self.guards = list(staging.gradient_guards.values())
        for _, capture in self.arguments:
            capture.tensor = None

    def backward_plan(self, needed):
        """The plan that computes the gradients of these inputs."""
        if needed not in self._backward:
            self._backward[needed] = differentiable.backward_graph(self, needed)
        return self._backward[needed]

    def broken(self):
        """What it was traced for and is no more: places of Python's state, or true."""
        if any((tensor.grad is None) != none for tensor, none in self.guards):
            return [True]
        return [change.key for change in self.state if not change.holds()]

    def run(self, args, kwargs):
        leaves = pytree.tree_leaves((args, kwargs))
        tensors = [self._input(capture, leaves) for capture in self.captures]
        try:
            needed = differentiable.is_needed(tensors)
            outputs = iter(differentiable.run(self, tensors) if needed else self.plan.run(tensors))
        except Exception as error:
            raise at_places(error) from error.__cause__
        outside = dict(zip(map(id, self.captures), tensors))
        values = [next(outputs) for _ in self.result.operands]
        written = [(outside[id(capture)], next(outputs)) for capture in self.writes]
        gradients = [(outside[id(c)], next(outputs) if there else None) for c, there in self.gradients]
        result, states = self.result.value(values, outside)
        with torch.no_grad():
            for tensor, value in written:
                tensor.copy_(value)
            for tensor, value in gradients:
                tensor.grad = value
        for change, value in zip(self.state, states):
            change.apply(value)
        return result

    def _input(self, capture, leaves):
        index = self.positions.get(id(capture))
        if index is not None:
            return leaves[index]
        return capture.tensor if capture.place is None else capture.place.state()


def _paths(tree):
    return [pytree.keystr(path) for path, _ in pytree.tree_flatten_with_path(tree)[0]]


def stage(staging, python_function, args, kwargs):
    """Runs the function on stand-ins, everything it does with them is recorded."""
    torch.nn.Module.__call__, before = calls.staged_module_call, torch.nn.Module.__call__
    _SHAPES.disabled, logs = True, _SHAPES.disabled  # what it tells is in the exception
    try:
        with staging_of(staging), Recorder(staging), Interception(staging):
            return calls.call(python_function, args, kwargs)
    except Dead:
        return None
    finally:
        torch.nn.Module.__call__ = before
        _SHAPES.disabled = logs


class Result:
    """What a function returns: operands of the graph, and how the value is made of them."""

    def __init__(self, staging, value):
        self.operands = []
        self._make = self._of(staging, value)

    def value(self, values, outside):
        return self._make(values, outside)

    def _add(self, operand):
        self.operands.append(operand)
        return len(self.operands) - 1

    def _of(self, staging, value):
        if isinstance(value, torch.Tensor):
            view = staging.view_of(value)
            if not view.chain and view.base.source is not None:
                source = id(view.base.source)
                return lambda values, outside: outside[source]
            return self._slot(staging.value_of(value))
        if scalars.is_staged(value):
            return self._slot(scalars.lower(staging, value))
        if isinstance(value, Maybe):
            flag = self._slot(scalars.lower(staging, value.flag))
            inner = self._of(staging, value.value)
            nothing = None if isinstance(value.absent, UndefinedReturnValue) else value.absent
            return lambda values, outside: inner(values, outside) if flag(values, outside) else nothing
        if isinstance(value, List):
            if value.value is not None:
                slot = self._slot(value.value)
                return lambda values, outside: list(slot(values, outside))
            return self._children(staging, list, list(value))
        if type(value) in (list, tuple) or type(value).__module__ == "torch.return_types":
            return self._children(staging, type(value), value)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return self._children(staging, lambda items, kind=type(value): kind(*items), value)
        if isinstance(value, dict):
            keys = list(value)
            inner = self._children(staging, list, list(value.values()))
            return lambda values, outside: dict(zip(keys, inner(values, outside)))
        return lambda values, outside: value

    def _slot(self, operand):
        index = self._add(operand)
        return lambda values, outside: values[index]

    def _children(self, staging, kind, items):
        made = [self._of(staging, item) for item in items]
        return lambda values, outside: kind([make(values, outside) for make in made])


def function(python_function=None, *, input_signature=None):
    """Makes a function run as a graph."""
    if python_function is None:
        return functools.partial(function, input_signature=input_signature)
    return Function(python_function, input_signature)


__all__ = ["Function", "function"]
