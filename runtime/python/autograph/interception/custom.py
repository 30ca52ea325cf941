"""`torch.autograd.Function`: `forward` is staged, and `backward` is its derivative.

The results pass through a new operator, which is defined for this call and has the derivative `backward`. Like any other
derivative of torch, it is captured as a graph when it is needed."""

import itertools

import torch
from torch.utils import _pytree as pytree

from ..capture import scalars
from ..capture.staging import current
from ..conversion import spans
from ..errors import NeedsPython, StagingError
from ..operators import calls, tape
from ..operators.overloads import OVERLOADS
from ..record.types import BOOL, FLOAT, INT, is_differentiable
from . import inplace

_LIBRARY = torch.library.Library("autograph", "FRAGMENT")
_IDS = itertools.count()
_has_setup_context = torch.autograd.function._is_setup_context_defined
_apply = torch.autograd.Function.apply.__func__

#: The module that defines the `torch.autograd.Function`s with which torch implements `register_autograd`. Their `apply`
#: is not staged: torch calls it to differentiate an operator with such a derivative.
_OF_OPERATORS = torch._library.autograd.__name__


class Context:
    """The context object of `forward` and `backward`."""

    def __init__(self):
        self.saved_tensors = ()
        self.needs_input_grad = ()
        self.materialize_grads = True

    def save_for_backward(self, *tensors):
        self.saved_tensors = tensors

    def mark_non_differentiable(self, *tensors):
        self.non_differentiable = tensors

    def mark_dirty(self, *tensors):
        self.dirty = tensors

    def set_materialize_grads(self, value):
        self.materialize_grads = value


def apply(cls, *args):
    """Stages `Function.apply`."""
    staging = current()
    if staging is None:
        return _apply(cls, *args)
    if cls.__module__ == _OF_OPERATORS:
        return super(torch.autograd.Function, cls).apply(*args)
    context = Context()
    context.needs_input_grad = tuple(isinstance(arg, torch.Tensor) for arg in args)
    with torch.no_grad():
        if cls.setup_context is torch.autograd.Function.setup_context:
            result = calls.call(cls.forward, (context, *args), {})
        else:
            result = calls.call(cls.forward, args, {})
            cls.setup_context(context, args, result)
    outputs = list(result) if isinstance(result, tuple) else [result]
    inputs = [arg for arg in args if isinstance(arg, torch.Tensor)]
    tensors = [output for output in outputs if isinstance(output, torch.Tensor)]
    if not torch.is_grad_enabled() or not all(any(is_differentiable(t.dtype) for t in part) for part in (inputs, tensors)):
        return result
    if torch._C._functorch.peek_interpreter_stack() is not None:
        message = f"the `torch.autograd.Function` `{cls.__name__}` cannot be staged in a transform of `torch.func`"
        help = "use operations of torch instead, which have derivatives, or call it outside of `vmap`"
        raise StagingError(f"{message}\nhelp: {help}", spans.current())
    dirty = getattr(context, "dirty", ())
    found = iter(differentiable(cls.__name__, _backward(cls, outputs), context, tensors, inputs))
    results = [next(found) if isinstance(output, torch.Tensor) else output for output in outputs]
    for index, output in enumerate(outputs):
        if any(output is tensor for tensor in dirty):  # the result is the argument, with another value and history
            inplace.assign(staging, output, staging.value_of(results[index]))
            results[index] = output
    return tuple(results) if isinstance(result, tuple) else results[0]


def _backward(cls, outputs):
    """Returns the `backward` of a class. It takes the gradients of those outputs that are tensors."""
    if all(isinstance(output, torch.Tensor) for output in outputs):
        return cls.backward
    is_tensor = [isinstance(output, torch.Tensor) for output in outputs]

    def backward(context, *gradients):
        found = iter(gradients)
        return cls.backward(context, *(next(found) if exists else None for exists in is_tensor))

    return backward


def differentiable(name, backward, context, outputs, inputs, in_graph=True):
    """Returns the outputs, with `backward` as their derivative with respect to the inputs. The operations of `backward` become
    part of the graph. If `in_graph` is false, or if `backward` changes Python state or reads the data of a tensor, the graph
    calls `backward` each time it runs."""
    saved = [tensor for tensor in context.saved_tensors if tensor is not None]
    derivative = _Derivative(name, backward, context, in_graph)
    operator = derivative.operator(f"{name.lower()}_{next(_IDS)}")
    return operator(outputs, inputs, [*saved, *derivative.attributes])


class _Derivative:
    """The `backward` that a user has written."""

    def __init__(self, name, backward, context, in_graph):
        self.name = name
        self.backward = backward
        self.in_graph = in_graph
        self.context = context
        self.present = [tensor is not None for tensor in context.saved_tensors]
        context.saved_tensors = ()
        self.leaves, self.structure = pytree.tree_flatten(dict(vars(context)))
        #: The positions of the tensors and staged numbers in the attributes of the context: `ctx.shift, ctx.scale = y, n`.
        self.places = [p for p, leaf in enumerate(self.leaves) if isinstance(leaf, torch.Tensor) or scalars.is_staged(leaf)]
        self.numbers = {place for place in self.places if scalars.is_staged(self.leaves[place])}
        self.attributes = [_as_tensor(self.leaves[place]) for place in self.places]
        for place in self.places:
            self.leaves[place] = None
        vars(context).update(pytree.tree_unflatten(self.leaves, self.structure))
        self.called = None  # the operator that calls `backward` when the graph runs

    def operator(self, name):
        """Returns an operator that copies `outputs`, and has this derivative with respect to `inputs`."""
        _LIBRARY.define(f"{name}(Tensor[] outputs, Tensor[] inputs, Tensor[] saved) -> Tensor[]")
        _LIBRARY.impl(name, lambda outputs, inputs, saved: [o.clone() for o in outputs], "CompositeExplicitAutograd")
        _LIBRARY.define(f"{name}_backward(Tensor[] gradients, Tensor[] inputs, Tensor[] saved) -> Tensor[]")
        called = tape.with_autograd(self._materialized)
        _LIBRARY.impl(f"{name}_backward", called, "CompositeExplicitAutograd")
        _LIBRARY.impl(f"{name}_backward", lambda gradients, inputs, saved: [torch.empty_like(i) for i in inputs], "Meta")
        torch.library.register_autograd(f"autograph::{name}_backward", tape.no_second_derivative, lib=_LIBRARY)
        torch.library.register_autograd(f"autograph::{name}", self._of_operator, setup_context=_setup, lib=_LIBRARY)
        self.called = getattr(torch.ops.autograph, f"{name}_backward").default
        return getattr(torch.ops.autograph, name).default

    def _of_operator(self, ctx, gradients):
        outputs, inputs, _ = ctx.counts
        tensors = ctx.saved_tensors
        inputs, saved = list(tensors[:inputs]), list(tensors[inputs:])
        found = self._captured(gradients, inputs, saved) if self.in_graph else None
        if found is None:
            found = self.called(list(gradients), inputs, saved)
        return [None] * outputs, found, [None] * len(saved)

    def _captured(self, gradients, inputs, saved):
        """Returns the gradients as part of the graph; None if that is not possible."""
        staging = current()
        objects, region, params = staging.objects, staging.record.region, staging.record.entry.params
        objects.watch(self.backward)
        before, mark, captures, count = objects.snapshot(), region.mark(), set(staging.captures), len(params)
        try:
            with staging.attempt():
                found = self._gradients(gradients, saved)
        except Exception:  # an exception that is not due to missing data is raised again when the graph calls `backward`
            found = None
        changed = objects.changed(before)
        for place, state in changed.items():
            objects.restore(place, state)
        if len(params) > count:  # `backward` reads a tensor from outside, which a formula cannot contain
            region.rewind(mark)
            del params[count:]
            found = [staging.captures.pop(key).tensor for key in set(staging.captures) - captures]
            self._check_unchanged(staging.outer or staging, found)
            return None
        return None if changed else found

    def _check_unchanged(self, staging, tensors):
        """Raises an error if the call changes one of the tensors from outside that `backward` reads. The memory of such a tensor
        changes only after the run, so a call of `backward` in the run would read its former value."""
        for capture in map(staging.captures.get, map(id, tensors)):
            if capture is not None and staging.view_of(capture.fake).base.value is not capture.param:
                message = f"the `backward` of `{self.name}` reads a tensor from outside that the function changes"
                raise NeedsPython(f"{message}\nhelp: save the tensor in `forward`, by `ctx.save_for_backward`", spans.current())

    def _gradients(self, gradients, saved):
        saved = iter(saved)
        self.context.saved_tensors = tuple(next(saved) if exists else None for exists in self.present)
        leaves = list(self.leaves)
        for place, tensor in zip(self.places, saved):
            leaves[place] = tensor.item() if place in self.numbers else tensor
        attributes = pytree.tree_unflatten(leaves, self.structure)
        del attributes["saved_tensors"]
        vars(self.context).update(attributes)
        found = self.backward(self.context, *gradients)
        found = found if isinstance(found, tuple) else (found,)
        expected = len(self.context.needs_input_grad)
        if len(found) < expected or any(gradient is not None for gradient in found[expected:]):
            message = f"function {self.name}Backward returned an incorrect number of gradients"
            raise RuntimeError(f"{message} (expected {expected}, got {len(found)})")
        return [gradient for gradient, needed in zip(found, self.context.needs_input_grad) if needed]

    def _materialized(self, gradients, inputs, saved):
        with torch.no_grad():
            found = self._gradients(gradients, saved)
        return [torch.zeros_like(i) if g is None else g.clone() for g, i in zip(found, inputs)]


def _as_tensor(value):
    """Returns a tensor, or a staged number as a tensor without dimensions."""
    if isinstance(value, torch.Tensor):
        return value
    return current().fresh(current().tensor_of(value, _DTYPES[scalars.kind_of(value)]))


_DTYPES = {INT: torch.int64, FLOAT: torch.float64, BOOL: torch.bool}


def _setup(ctx, inputs, output):
    _, tensors, saved = inputs
    ctx.save_for_backward(*tensors, *saved)
    ctx.counts = [len(part) for part in inputs]


def has_setup_context(setup_context):
    """Replaces the function of this name that torch's own `apply` calls. While tracing, torch's `apply` runs only if
    code that is not converted has read it before the trace (`apply = MyFunction.apply`), which is an error."""
    if current() is None:
        return _has_setup_context(setup_context)
    message = "code that is not converted calls the `apply` of a `torch.autograd.Function`, which was read before the trace"
    raise StagingError(f"{message}\nhelp: pass a function that calls it: `lambda x: MyFunction.apply(x)`", spans.current())


# Handles `apply = MyFunction.apply` before the trace.
OVERLOADS[_apply] = apply
