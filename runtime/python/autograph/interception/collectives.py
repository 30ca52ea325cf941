"""Handles the operators of `torch.distributed` that reach torch's dispatcher while tracing. `operators/collectives.py`
records them.

Functions such as `torch.distributed.all_reduce` write to their arguments, and have no derivative in torch. The operators of
`torch.distributed._functional_collectives` return new tensors, and have the adjoint as their derivative. The functions of
`torch.distributed.nn.functional` are `torch.autograd.Function`s that call these operators."""

import importlib
from contextlib import contextmanager

import torch
from torch.utils import _pytree as pytree

from ..capture import gradients, scalars, views
from ..conversion import spans
from ..errors import StagingError
from ..operators import collectives
from . import inplace, schemas

NAMESPACES = ("c10d", "_c10d_functional", "_c10d_functional_autograd")


class _Call:
    """A collective with values of the graph in place of the tensors and staged numbers among its arguments."""

    def __init__(self, staging, func, args, group):
        self.func, self.group = func, group
        leaves, self.structure = pytree.tree_flatten(args)
        self.places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor) or scalars.is_staged(leaf)]
        self.operands = [staging.operand(leaves[index]) for index in self.places]
        self.held = [None if i in set(self.places) else leaf for i, leaf in enumerate(leaves)]

    def arguments(self, values):
        leaves = list(self.held)
        for index, value in zip(self.places, values):
            leaves[index] = value.contiguous() if isinstance(value, torch.Tensor) else value
        return list(pytree.tree_unflatten(leaves, self.structure))


# Collectives that return new tensors.


def _functional(staging, func, args, kwargs):
    args = schemas.in_order(func, args, kwargs)
    group = collectives.Group(_resolved(schemas.argument(func, args, "group_name")))
    args = [staging.fake_of(arg) if isinstance(arg, torch.Tensor) else arg for arg in args]
    is_list = isinstance(args[0], (list, tuple))
    inputs = [staging.fake_of(tensor) for tensor in args[0]] if is_list else [args[0]]
    if any(map(scalars.is_staged, pytree.tree_leaves(args[1:]))):
        message = "a size that is only known when the graph runs cannot be an argument of a collective"
        raise StagingError(f"{message}\nhelp: pass a Python number", spans.current())
    with staging.quiet():
        fakes = func(inputs if is_list else inputs[0], *args[1:])
    fakes = list(fakes) if is_list else [fakes]
    call = _Call(staging, func, args, group)

    def start(*values):
        group.now()
        found = func(*call.arguments(values))
        found = list(found) if is_list else [found]
        return found, found

    values = collectives.emit(staging, start, _wait, call.operands, map(views.result_type, fakes))
    results = []
    for input, fake, value in zip(inputs, fakes, values):
        staging.sizes.adopt(fake, value)
        result = staging.adopt(fake, value)
        results.append(collectives.differentiable(staging, result, input, _adjoint(func, args, group)))
    return results if is_list else results[0]


def _wait(tensors):
    for tensor in tensors:
        torch.ops._c10d_functional.wait_tensor(tensor)


def _resolved(name):
    return torch.distributed.distributed_c10d._resolve_process_group(name)


def _adjoint(func, args, group):
    """Returns the function that computes the gradient of the operand from the gradient of the result: the adjoint of
    the collective. (A collective is a linear map of the tensors of all ranks.)"""
    ops, name = torch.ops._c10d_functional, func.overloadpacket.__name__.removesuffix("_coalesced")
    rank, size = group.place
    if name == "all_gather_into_tensor":
        return lambda gradient: ops.reduce_scatter_tensor(gradient, "sum", size, group.name)
    if name == "all_to_all_single":
        received, sent = args[1:3]
        return lambda gradient: ops.all_to_all_single(gradient, sent, received, group.name)
    if name == "broadcast":
        is_source = args[1] == rank

        def reduced(gradient):
            total = ops.all_reduce(gradient, "sum", group.name)
            return total if is_source else torch.zeros_like(total)

        return reduced
    reduction = args[1].lower()
    if reduction not in ("sum", "avg"):
        return collectives.without_derivative(
            f"`{name}` with the reduction `{reduction}` has no derivative\nhelp: use `sum` or `avg`, or detach the tensor"
        )
    if name == "all_reduce":
        return lambda gradient: ops.all_reduce(gradient, reduction, group.name)

    def gathered(gradient):
        found = ops.all_gather_into_tensor(gradient, size, group.name)
        return found if reduction == "sum" else found / size

    return gathered


# Collectives that write to their arguments.

#: Name of an operator -> the argument that it writes to; None if it writes to none.
_WRITTEN = {
    "allreduce_": "tensors", "allreduce_coalesced_": "tensors", "broadcast_": "tensors", "reduce_": "tensors",
    "recv_": "tensors", "send": None, "allgather_": "output_tensors", "_allgather_base_": "output_tensor",
    "allgather_coalesced_": "output_lists", "allgather_into_tensor_coalesced_": "outputs",
    "reduce_scatter_": "output_tensors", "_reduce_scatter_base_": "output_tensor",
    "reduce_scatter_tensor_coalesced_": "outputs", "gather_": "output_tensors", "scatter_": "output_tensors",
    "alltoall_": "output_tensors", "alltoall_base_": "output", "barrier": None, "monitored_barrier_": None,
}  # fmt: skip

#: Name of an operator -> its name in `torch.distributed`, if that is different.
_PUBLIC = {
    "allreduce_": "all_reduce", "allgather_": "all_gather", "_allgather_base_": "all_gather_into_tensor",
    "_reduce_scatter_base_": "reduce_scatter_tensor", "alltoall_": "all_to_all", "alltoall_base_": "all_to_all_single",
}  # fmt: skip

#: Operators that return only when all ranks have called them.
_BARRIERS = ("barrier", "monitored_barrier_")


def _in_place(staging, func, args, kwargs):
    name = func.overloadpacket.__name__
    args = schemas.in_order(func, args, kwargs)
    args = pytree.tree_map_only(torch.Tensor, staging.fake_of, args)
    names = [name for name, _, _ in schemas.arguments(func)]
    position, written = names.index("process_group"), _WRITTEN[name]
    group = collectives.Group(torch.distributed.ProcessGroup.unbox(args[position]))
    call = _Call(staging, func, [None if i == position else arg for i, arg in enumerate(args)], group)
    target = None if written is None else names.index(written)
    targets = [] if target is None else pytree.tree_leaves(args[target])
    is_read = written == "tensors" and name != "recv_"

    def start(*values):
        arguments = call.arguments(values)
        arguments[position] = group.now().boxed()
        if target is not None:
            arguments[target] = pytree.tree_map(torch.clone if is_read else torch.empty_like, arguments[target])
        found = func(*arguments)
        work = found[-1] if isinstance(found, tuple) else found
        work = None if work is None else torch.distributed.Work.unbox(work)
        if name in _BARRIERS and work is not None:
            work.wait()
        return [] if target is None else pytree.tree_leaves(arguments[target]), work

    types = [views.result_type(tensor) for tensor in targets]
    read = pytree.tree_leaves([a for i, a in enumerate(args) if i != target or is_read])
    source = next((t for t in read if isinstance(t, torch.Tensor) and _has_history(staging, t)), None)
    values = collectives.emit(staging, start, _finish, call.operands, types)
    for tensor, value in zip(targets, values):
        result = staging.fresh(value)
        if source is not None:
            result = collectives.differentiable(staging, result, source, _no_adjoint(name))
        # Torch's autograd does not record the write.
        with torch.set_grad_enabled(torch.is_grad_enabled() and source is not None):
            inplace.assign(staging, tensor, staging.value_of(result))
    work = torch.distributed.Work.boxed(torch._C._distributed_c10d.FakeWork())
    returned = [work] if len(func._schema.returns) == 1 else [args[target], work] if func._schema.returns else []
    return tuple(returned) if len(returned) > 1 else returned[0] if returned else None


def _finish(work):
    if work is not None:
        work.wait()


def _has_history(staging, tensor):
    """Returns whether a tensor may be computed from one that requires a gradient."""
    if not torch.is_grad_enabled() or gradients.is_leaf(staging, tensor):
        return False
    return staging.depth > 0 or gradients.has_history(staging, tensor)


def _no_adjoint(name):
    return collectives.without_derivative(
        f"a collective that writes to its argument, such as `{_PUBLIC.get(name, name.rstrip('_'))}`, has no derivative\n"
        "help: call the function of `torch.distributed.nn.functional` or of `torch.distributed._functional_collectives`, "
        "or detach the tensor"
    )


def _with_autograd(staging, func, args, kwargs):
    """Calls the operator without `_autograd` in its name: in a graph, functional collectives always have a derivative."""
    return getattr(torch.ops._c10d_functional, func.overloadpacket.__name__)(*args, **kwargs)


def _waited(staging, func, args, kwargs):
    """Returns the operand of `wait_tensor` unchanged, because a node that waits for the collective already exists."""
    return args[0]


def refuse(func):
    """Refuses the other operators of torch.distributed, such as a receive from any rank."""
    name = func.overloadpacket.__name__
    help = "call it outside of the staged function, or call a function that calls it with `ag.py_function`"
    raise StagingError(f"the collective `{name}` cannot be staged\nhelp: {help}", spans.current())


def _special():
    if not torch.distributed.is_available():
        return {}
    found = {getattr(torch.ops.c10d, name).default: _in_place for name in _WRITTEN}
    functional = torch.ops._c10d_functional
    for name in ("all_reduce", "all_gather_into_tensor", "reduce_scatter_tensor"):
        found[getattr(functional, name).default] = found[getattr(functional, f"{name}_coalesced").default] = _functional
    found[functional.all_to_all_single.default] = found[functional.broadcast.default] = _functional
    for name in ("all_gather_into_tensor", "reduce_scatter_tensor", "all_to_all_single"):
        found[getattr(torch.ops._c10d_functional_autograd, name).default] = _with_autograd
    found[functional.wait_tensor.default] = _waited
    return found


SPECIAL = _special()


@contextmanager
def plain_results():
    """In this block, functional collectives return plain tensors. Torch would wrap their results in a class that waits
    when they are used, unless it is tracing itself."""
    if not torch.distributed.is_available() or not torch.distributed.is_initialized():
        yield
        return
    module = importlib.import_module("torch.distributed._functional_collectives")  # most programs do not need it
    module._are_we_tracing, before = _is_tracing, module._are_we_tracing
    try:
        yield
    finally:
        module._are_we_tracing = before


def _is_tracing():
    return True
