"""Torch's optimizers in staged code. Their Python code checks whether gradients and state exist, which in a branch or
loop is only known when the graph runs."""

import inspect

import torch

from ..capture.staging import current
from ..errors import Restart
from .overloads import OVERLOADS

_zero_grad = torch.optim.Optimizer.zero_grad
_module_zero_grad = torch.nn.Module.zero_grad


def zero_grad(optimizer, set_to_none=True):
    """`Optimizer.zero_grad`, without reading gradients."""
    if current() is None or not set_to_none:
        return _zero_grad(optimizer, set_to_none)
    for parameter in _parameters(optimizer):
        parameter.grad = None


def module_zero_grad(module, set_to_none=True):
    """`Module.zero_grad`, without reading gradients."""
    if current() is None or not set_to_none:
        return _module_zero_grad(module, set_to_none)
    for parameter in module.parameters():
        parameter.grad = None


OVERLOADS.update({_zero_grad: zero_grad, _module_zero_grad: module_zero_grad})


def _parameters(optimizer):
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def before_step(optimizer, args, kwargs):
    """An optimizer creates its state in its first step. If that step is conditional, tracing starts again, with the
    state created at its beginning."""
    staging = current()
    if staging is None:
        return
    missing = staging.depth and any(not optimizer.state.get(p) for p in _parameters(optimizer) if p.requires_grad)
    if missing and id(optimizer) in staging.outside and id(optimizer) not in staging.prepared and _is_lazy(optimizer):
        raise Restart(optimizer)


def _is_lazy(optimizer):
    if isinstance(optimizer, torch.optim.SGD):
        return any(group["momentum"] and not group["dampening"] for group in optimizer.param_groups)
    return hasattr(optimizer, "_init_group")


def prepare(staging, optimizer):
    """Creates the state of an optimizer that has not taken a step."""
    staging.prepared.add(id(optimizer))
    before = staging.gradients.snapshot()
    for group in optimizer.param_groups:
        new = [p for p in group["params"] if p.requires_grad and not optimizer.state.get(p)]
        if isinstance(optimizer, torch.optim.SGD):
            # Without dampening, momentum that starts from zeros equals that of torch.
            for parameter in new if group["momentum"] and not group["dampening"] else ():
                optimizer.state[parameter]["momentum_buffer"] = torch.zeros_like(parameter)
        else:
            for parameter in new:
                parameter.grad = torch.zeros_like(parameter)
            lists = len(inspect.signature(optimizer._init_group).parameters) - 1
            optimizer._init_group({**group, "params": new}, *([] for _ in range(lists)))
        for parameter in new:
            staging.objects.watch(optimizer.state[parameter])
    staging.gradients.values = before
