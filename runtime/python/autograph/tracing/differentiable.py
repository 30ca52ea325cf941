"""Staged functions under torch's autograd: a `backward` outside of a function computes gradients of its arguments and captures.

The graph and its gradient are partitioned into a forward graph and a backward graph; the forward graph saves the values
that the backward graph needs. A function that computes gradients itself is rarely differentiated again: its backward
graph is built on demand, and recomputes the forward pass with the same random numbers. Derivatives of higher order
(`create_graph=True`) recompute it too. Each derivative has its own graph, whose runs are nodes of autograd.
"""

import threading
from contextlib import contextmanager
from operator import and_

import torch
from torch.utils import _pytree as pytree

from .._runtime import Recorded, run_backward, run_recorded
from ..errors import StagingError
from ..operators import python_calls
from ..record.queries import has_gradient
from ..record.types import TensorType, gradient_type, is_differentiable
from . import graphs, released
from .compilation import strides_of


def needed(tensors):
    """Returns for each input whether a run must compute its gradient. Returns None if autograd does not record the run."""
    if not torch.is_grad_enabled():
        return None
    flags = tuple([isinstance(t, torch.Tensor) and t.requires_grad for t in tensors])
    return flags if True in flags else None


def run(trace, tensors, needed):
    """Runs the graph as one node of autograd. The tensors in lists and tuples are outputs of that node. If no output has a
    history, as for a step of an optimizer, the run has no node."""
    recording = trace.gradient(_Recording, needed)
    if not recording.has_history:
        with torch.no_grad():
            return trace.plan.run([t.detach() if need else t for t, need in zip(tensors, needed)])
    if recording.released is not None:
        with torch.no_grad():
            outputs = trace.plan.run([t.detach() if need else t for t, need in zip(tensors, needed)])
        return released.with_history(outputs, recording.released, [tensors[index] for index in recording.reached])
    if recording.unreachable and any(isinstance(t, torch.Tensor) and t.grad_fn is not None for t in tensors):
        # A backward pass must not enter the history of such an input. It may be a result of an earlier call that is in a
        # list outside of the function.
        tensors = [t.detach() if index in recording.unreachable else t for index, t in enumerate(tensors)]
    if recording.recorded is not None:
        return StagedCall.apply(recording.recorded, *tensors)
    structure = []
    leaves = Differentiable.apply(recording, structure, *tensors)
    return leaves if recording.returns_tensors else _with_structure(leaves, structure[0])


def recording(trace, needed):
    """Returns how autograd records the runs of a trace in which these inputs need a gradient."""
    return trace.gradient(_Recording, needed)


class _Recording:
    """How autograd records the runs of a trace in which these inputs need a gradient. All such runs share this
    object."""

    def __init__(self, trace, needed):
        self.trace, self.needed = trace, needed
        #: For each output, whether it depends on an input that needs a gradient.
        self.flags = trace.gradient(differentiable_outputs, needed)
        #: Whether an output has a history. New values of tensors do not count if autograd does not record the writes.
        self.has_history = any(flag for index, flag in enumerate(self.flags) if index not in trace.without_history)
        #: Runs the graph; None if the class `Differentiable` must run it.
        self.recorded = None
        #: The outputs with a history, if it has been released (`released.py`); None if a backward pass is possible.
        self.released = None
        if not self.has_history:
            return
        #: The inputs that need a gradient and on which no output depends.
        self.unreachable = set(trace.gradient(_without_seeds, (needed, (True,) * len(trace.operands))))
        histories = [i for i, flag in enumerate(self.flags) if flag and i not in trace.without_history]
        if released.are_released(trace, histories, needed):
            self.released = histories
            #: The inputs to which this history leads.
            self.reached = [index for index, need in enumerate(needed) if need and index not in self.unreachable]
            return
        #: The forward and the backward graph; None if the backward graph is built on demand.
        self.gradient = trace.gradient(partitioned, needed)
        self.kept = range(len(needed)) if self.gradient is None else self.gradient.kept
        types = [getattr(operand, "type", None) for operand in trace.operands]
        is_tensor = all(isinstance(type, TensorType) for type in types)
        #: Whether all outputs are tensors, and no two of them are the same tensor.
        self.returns_tensors = is_tensor and not trace.overwrites and not trace.uses
        if is_tensor and not trace.uses:
            self.constant = [
                index
                for index, (flag, type) in enumerate(zip(self.flags, types))
                if not (flag and is_differentiable(type.dtype))
            ]
            if self.gradient is not None and not (records_writes(trace, self.flags, needed) or _is_random(trace)):
                self.recorded = self._recorded()

    def _recorded(self):
        return Recorded(
            self,
            _APPLY,
            self.gradient.forward,
            outputs=len(self.trace.operands),
            needed=self.needed,
            unreachable=sorted(self.unreachable),
            kept=self.gradient.kept,
            copied=[index for index in self.gradient.kept if self.trace.captures[index] in self.trace.writes],
            constant=self.constant,
            seeds=self.gradient.outputs,
            gradients=self.gradient.inputs,
        )

    def backward(self, strides):
        """Returns the plan of the backward graph for a `StagedCall` with these strides of saved values and seeds."""
        return self.gradient.backward(strides)

    def gradients(self, node, seeds):
        """Returns the gradients of the arguments of a `StagedCall`, for seeds from which its backward graph cannot compute them."""
        return None, *_gradients(_AsContext(node), seeds)


def records_writes(trace, flags, needed):
    """Returns whether autograd records a write. `flags` contains for each output whether it has a history, and `needed` for
    each input whether it requires a gradient."""
    if any(trace.recorded):
        index, first = {id(capture): index for index, capture in enumerate(trace.captures)}, len(trace.result.operands)
        for position, (capture, is_recorded) in enumerate(zip(trace.writes, trace.recorded), first):
            if is_recorded and (flags[position] or needed[index[id(capture)]]):
                return True
    return False


class StagedCall(torch.autograd.Function):
    """Runs a graph as one node of autograd, almost without Python."""

    forward, backward = staticmethod(run_recorded), staticmethod(run_backward)


#: `StagedCall.apply` without the support of functorch.
_APPLY = super(torch.autograd.Function, StagedCall).apply


class _AsContext:
    """A `StagedCall` with the attributes of a `Differentiable`."""

    unused, structure = [], None

    def __init__(self, node):
        run = node.run
        self.recording, self.saved, self.kinds = run.recording, run.saved, run.kinds
        self.inputs = _Inputs(self.recording.trace, run.inputs, run.versions)
        self._node = node

    @property
    def saved_tensors(self):
        return self._node.saved_tensors


def _flat(outputs):
    """Returns the tensors in the outputs, and their structure; None if there are only tensors."""
    if all(isinstance(output, torch.Tensor) for output in outputs):
        return list(outputs), None
    return pytree.tree_flatten(tuple(outputs))


def _with_structure(leaves, structure):
    return tuple(leaves) if structure is None else pytree.tree_unflatten(leaves, structure)


class Differentiable(torch.autograd.Function):
    """Runs a graph as one node of autograd."""

    @staticmethod
    def forward(ctx, recording, structure, *tensors):
        ctx.recording, ctx.inputs = recording, _Inputs(recording.trace, tensors)
        ctx.set_materialize_grads(False)  # `backward` must see which outputs have no gradient
        plain = [t.detach() if isinstance(t, torch.Tensor) else t for t in tensors]
        saved = _saved(recording, plain) if recording.trace.writes else plain
        if recording.gradient is None:
            ctx.others = [None if isinstance(t, torch.Tensor) else t for t in tensors]
            ctx.save_for_backward(*(t if isinstance(t, torch.Tensor) else None for t in saved))
            outputs = recording.trace.plan.run(plain)
        else:
            # Torch checks that saved tensors are not modified before the backward pass.
            ctx.save_for_backward(*[saved[index] for index in recording.kept if isinstance(saved[index], torch.Tensor)])
            outputs, ctx.saved = recording.gradient.forward.run_saving(saved, len(recording.trace.operands))
        if recording.returns_tensors:
            ctx.unused, ctx.structure = [], None
            leaves, constant = outputs, [outputs[index] for index in recording.constant]
        else:
            ctx.unused = [index for index, flag in recording.trace.uses if outputs[flag] is False]
            leaves, ctx.structure = _flat(outputs)
            if recording.trace.overwrites:
                leaves = _as_distinct_tensors(leaves)
            structure.append(ctx.structure)
            constant = _constant(recording, outputs, leaves)
        if constant:
            ctx.mark_non_differentiable(*constant)
        ctx.kinds = [(t.shape, t.dtype, t.device) if isinstance(t, torch.Tensor) else None for t in leaves]
        return tuple(leaves)

    @staticmethod
    def backward(ctx, *seeds):
        if all(seed is None for seed in seeds):  # torch's engine also calls nodes whose outputs get no gradient
            return (None,) * (2 + len(ctx.recording.needed))
        return None, None, *_gradients(ctx, seeds)


def _gradients(ctx, seeds):
    """Returns the gradients of the inputs, given those of the outputs."""
    seeds, unused = _seeds(ctx, seeds)
    if torch.is_grad_enabled():  # create_graph=True
        return _differentiable(ctx, seeds, unused)
    tensors = ctx.saved_tensors
    if ctx.recording.gradient is not None:
        gradient = ctx.recording.gradient
        seeds = [seeds[index] for index in gradient.outputs]
        backward = gradient.backward([*ctx.saved.strides(), *map(strides_of, seeds)])
        found = backward.resume(ctx.saved, seeds)
    else:
        gradient = ctx.recording.trace.gradient(Joint, ctx.recording.needed)
        inputs = [t if t is not None else o for t, o in zip(tensors, ctx.others)]
        inputs += [seeds[index] for index in gradient.outputs]
        with _random_numbers(ctx.inputs.random):
            found = gradient.plan.run(inputs)[len(ctx.recording.trace.operands) :]
    gradients = [None] * len(ctx.recording.needed)
    for index, value in zip(gradient.inputs, found):
        gradients[index] = value
    return _used(gradients, unused)


def _saved(recording, plain):
    """Returns the inputs, with copies of those that the run writes to and the backward graph reads."""
    written = {id(capture) for capture in recording.trace.writes}
    return [
        t.clone() if index in recording.kept and id(capture) in written and isinstance(t, torch.Tensor) else t
        for index, (t, capture) in enumerate(zip(plain, recording.trace.captures))
    ]


def _constant(recording, outputs, leaves):
    """Returns the tensors among the outputs that have no gradient."""
    has = []
    for flag, output in zip(recording.flags, outputs):
        has += [flag] * (1 if isinstance(output, torch.Tensor) else len(pytree.tree_leaves(output)))
    return [
        leaf
        for leaf, flag in zip(leaves, has)
        if isinstance(leaf, torch.Tensor) and not (flag and is_differentiable(leaf.dtype))
    ]


class MadeLeaf(torch.autograd.Function):
    """The history of a result that is computed from a leaf that the function creates. The gradient ends there, because
    no other code can access that leaf."""

    @staticmethod
    def forward(ctx, end, result):
        return result()

    @staticmethod
    def backward(ctx, seed):
        return None, None


def with_history(outputs, indexes):
    """Returns the outputs. The outputs at `indexes` require a gradient even if no input does, as in eager torch."""
    end = torch.empty(0, requires_grad=True)

    def of(leaf):
        if not isinstance(leaf, torch.Tensor) or leaf.requires_grad or not is_differentiable(leaf.dtype):
            return leaf
        with torch.enable_grad():
            return MadeLeaf.apply(end, lambda: leaf)

    outputs = list(outputs)
    for index in indexes:
        outputs[index] = pytree.tree_map(of, outputs[index])
    return outputs


def _as_distinct_tensors(leaves):
    """Returns the outputs, each as a separate tensor object. `x` and `x.detach()` are the same value of the graph, but each
    output must have its own history."""
    seen, found = set(), []
    for leaf in leaves:
        if isinstance(leaf, torch.Tensor) and id(leaf) in seen:
            leaf = torch.empty(0, dtype=leaf.dtype, device=leaf.device).set_(leaf)
        seen.add(id(leaf))
        found.append(leaf)
    return found


def _seeds(ctx, seeds):
    """Returns the gradients of the outputs, in the structure of the outputs, with zeros for missing gradients; and the indexes
    of the inputs that have no gradient. These are the inputs that the run has not used, and those on which only outputs
    without a gradient depend."""
    if all(seed is not None for seed in seeds):
        return _with_structure(seeds, ctx.structure), ctx.unused
    given = _with_structure(seeds, ctx.structure)
    seeded = tuple(any(seed is not None for seed in _leaves_of(part)) for part in given)
    unused = ctx.unused + ctx.recording.trace.gradient(_without_seeds, (ctx.recording.needed, seeded))
    filled = [
        torch.zeros(kind[0], dtype=kind[1], device=kind[2]) if seed is None and kind is not None else seed
        for seed, kind in zip(seeds, ctx.kinds)
    ]
    return _with_structure(filled, ctx.structure), unused


def _leaves_of(part):
    return pytree.tree_leaves(part, is_leaf=lambda value: value is None)


def _without_seeds(trace, needed):
    """Returns the inputs on which no output with a gradient depends."""
    needed, seeded = needed
    inputs = [index for index, need in enumerate(needed) if need]
    return [index for index in inputs if not any(map(and_, trace.graph.differentiable_in([index]), seeded))]


def _used(gradients, unused):
    """Returns the gradients, with None for the unused inputs."""
    for index in unused:
        gradients[index] = None
    return gradients


class _Inputs:
    """The inputs of a run, kept for derivatives of higher order."""

    __slots__ = ("_name", "_tensors", "_versions", "random")

    def __init__(self, trace, tensors, versions=None):
        self._name = trace.staging.name
        # The run writes to some of the tensors, so their histories refer to this run: keeping the tensors would create
        # a reference cycle.
        self._tensors = None if trace.writes else tensors
        if versions is None:
            versions = [t._version if isinstance(t, torch.Tensor) else None for t in tensors]
        self._versions, self.random = versions, None
        if _is_random(trace):
            self.random = (*_random_state(trace.staging.drawn.values()), python_calls.current_run())

    def unchanged(self):
        """Returns the tensors. Raises an error if one of them has been changed in place."""
        if self._tensors is None:
            message = f"`{self._name}` changes a tensor in place, so its gradient cannot be differentiated"
            raise StagingError(f"{message}\nhelp: return the new value instead")
        for tensor, version in zip(self._tensors, self._versions):
            if version is not None and tensor._version != version:
                message = f"an input of `{self._name}` was changed in place after the call, and is needed for a gradient"
                raise RuntimeError(message)
        return self._tensors


def _differentiable(ctx, seeds, unused):
    """Returns the gradients of the inputs, with a history."""
    level = ctx.recording.trace.gradient(Level, (ctx.recording.needed,))
    seeds = [seeds[index] for index in level.outputs]
    return _used(level.gradients(ctx.inputs.unchanged(), ctx.inputs.random, seeds), unused)


class Derivative(torch.autograd.Function):
    """A run of a `Level`."""

    @staticmethod
    def forward(ctx, level, random, *inputs):
        ctx.level, ctx.random = level, random
        ctx.save_for_backward(*(t if isinstance(t, torch.Tensor) else None for t in inputs))
        ctx.others = [None if isinstance(t, torch.Tensor) else t for t in inputs]
        with _random_numbers(random):
            return tuple(level.plan.run([t.detach() if isinstance(t, torch.Tensor) else t for t in inputs]))

    @staticmethod
    def backward(ctx, *seeds):
        inputs = [t if t is not None else o for t, o in zip(ctx.saved_tensors, ctx.others)]
        steps = (*ctx.level.steps, tuple(ctx.needs_input_grad[2:]))
        level = ctx.level.trace.gradient(Level, steps)
        return (None, None, *level.gradients(inputs, ctx.random, list(seeds)))


def _is_random(trace):
    """Returns whether a second run must repeat the random numbers, or the results of Python functions, of the first run."""
    return bool(trace.is_random or trace.staging.drawn or trace.staging.reached)


def _random_state(drawn):
    """Returns the state of torch's random number generator, and of those of Python and NumPy that a graph draws from."""
    return torch.get_rng_state(), [(generator, generator.state()) for generator in drawn]


@contextmanager
def _random_numbers(state):
    """In this block, the random number generators have these states. Python functions are not called again: their results
    are those of the run."""
    if state is None:
        yield
        return
    torch_state, drawn, run = state
    now = [(generator, generator.state()) for generator, _ in drawn]
    for generator, state in drawn:
        generator.restore(state)
    try:
        with torch.random.fork_rng(devices=[]), python_calls.recomputing(run):
            torch.set_rng_state(torch_state)
            yield
    finally:
        for generator, state in now:
            generator.restore(state)


class _Gradient:
    """The gradient of a trace with respect to the inputs that need one. `outputs` contains the indexes of the outputs that
    have a gradient, and `inputs` those of the inputs that have one."""

    def __init__(self, trace, needed, omits_prints):
        flags = trace.gradient(differentiable_outputs, needed)
        self.outputs = [
            index
            for index, (operand, flag) in enumerate(zip(trace.operands, flags))
            if flag and gradient_type(getattr(operand, "type", None)) is not None
        ]
        candidates = [
            index
            for index, (capture, need) in enumerate(zip(trace.captures, needed))
            if need and gradient_type(capture.param.type) is not None
        ]
        self.graph, self.exceptions, found = graphs.gradient_graph(
            trace.staging,
            trace.operands,
            [trace.operands[index] for index in self.outputs],
            [trace.captures[index].param for index in candidates],
            omits_prints,
        )
        self.inputs = [index for index, exists in zip(candidates, found) if exists]


class Joint(_Gradient):
    """One graph with both the forward and the backward pass."""

    def __init__(self, trace, needed):
        super().__init__(trace, needed, omits_prints=True)
        self.plan = trace.planned(self.graph, self.exceptions)


class Level:
    """A derivative of a trace, of the order `len(steps)`. For each order, `steps` contains a boolean for each input of the
    previous order: whether it needs a gradient. The inputs of a derivative are the inputs of the previous order, followed
    by the gradients of its results."""

    def __init__(self, trace, steps):
        self.trace, self.steps = trace, steps
        self.graph, self.exceptions, self.outputs, self._found = graphs.derivative_graph(
            trace.staging, trace.operands, trace.captures, steps
        )
        self.plan = trace.planned(self.graph, self.exceptions) if any(self._found) else None

    def gradients(self, inputs, random, seeds):
        """Returns for each input of the previous order its gradient, or None."""
        if self.plan is None:
            return [None] * len(self._found)
        values = iter(Derivative.apply(self, random, *inputs, *seeds))
        return [next(values) if exists else None for exists in self._found]


class Partitioned(_Gradient):
    """A forward and a backward graph. `kept` contains the indexes of the inputs that the backward graph reads."""

    def __init__(self, trace, needed):
        super().__init__(trace, needed, omits_prints=False)
        forward, backward, self.kept = self.graph.partitioned(len(trace.operands), len(self.outputs))
        self.forward = trace.planned(forward, self.exceptions)
        self._plan = lambda strides: trace.planned(backward, self.exceptions, strides)
        self._lock = threading.Lock()
        self._backward = None if trace.compiles_late else self._plan([])

    def backward(self, strides):
        """Returns the plan of the backward graph. It is made for the first backward pass, whose saved values and seeds have
        these `strides` (`compilation.strides_of`): a saved value may be transposed. Most other passes have the same."""
        if self._backward is None:
            with self._lock:
                self._backward = self._backward or self._plan(strides)
        return self._backward


def differentiable_outputs(trace, needed):
    """Returns for each output whether it has a gradient with respect to an input that needs one. This is the case if it
    depends on such an input by a path that does not pass through `detach`, `no_grad` or numbers."""
    return trace.graph.differentiable_in([index for index, need in enumerate(needed) if need])


def partitioned(trace, needed):
    """Returns the forward and backward graph. Returns None if the backward graph is built on demand. It is built on
    demand for one of three reasons: the trace computes gradients itself; saved values would be in returned lists; or a
    derivative is missing, which is an error only when it is needed."""
    if has_gradient(trace.staging.record.entry):
        return None
    try:
        return Partitioned(trace, needed)
    except (RuntimeError, StagingError):
        return None
