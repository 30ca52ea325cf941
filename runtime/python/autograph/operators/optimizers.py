"""Torch's optimizers in staged code. Their Python code tests whether gradients and state exist. In a branch or loop, that
is known only when the graph runs."""

import inspect

import torch

from ..capture import scalars
from ..capture.staging import current
from ..capture.unbound import Maybe
from ..conversion import spans
from ..errors import Restart, RunInPython, StagingError
from .if_stmt import staged_if
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
    """Called before `Optimizer.step`. An optimizer creates its state in its first step. If that step is conditional, this
    restarts the trace, with the state created at its beginning."""
    staging = current()
    if staging is None:
        return
    if isinstance(optimizer, _IN_PYTHON):
        message = f"a step of `{type(optimizer).__name__}` cannot be staged"
        raise RunInPython(StagingError(message, spans.current()), lasts=True)
    is_new = id(optimizer) in staging.outside and id(optimizer) not in staging.prepared
    if staging.depth and is_new and _is_lazy(optimizer) and _lacks_state(optimizer, _updated(staging, optimizer)):
        raise Restart(optimizer)
    hidden = None if len(args) > 1 or kwargs.get("closure") else _conditional_step(staging, optimizer)
    if hidden:
        staging.stepping[id(optimizer)] = hidden


#: Optimizers that cannot be staged: the state of LBFGS has lists that grow under conditions, and SparseAdam has sparse
#: gradients.
_IN_PYTHON = torch.optim.LBFGS, torch.optim.SparseAdam


def _conditional_step(staging, optimizer):
    """Some parameters may have a gradient on some paths only. Updates them below a staged condition, because without a
    gradient, not even momentum may change a parameter. If the step creates the state of such a parameter, the condition
    is decided instead. At the end, these gradients are hidden, so that the optimizer's own step updates only the other
    parameters. Returns all gradients, which `after_step` restores; None if every gradient is unconditional."""
    gradients = staging.gradients
    bases = [staging.view_of(parameter).base for parameter in _parameters(optimizer)]
    before = {base: gradients.of(base) for base in bases}
    groups = {}
    for base, gradient in before.items():
        if isinstance(gradient, Maybe):
            groups.setdefault(scalars.lower(staging, gradient.flag), []).append(base)
    parameters, decided = dict(zip(bases, _parameters(optimizer))), []
    for flag, group in groups.items():
        if _lacks_state(optimizer, [parameters[base] for base in group]):
            answer = staging.decided(flag)
            if answer is not None:
                decided += group if answer else ()
                continue
        for base in bases:
            gradients.set(base, before[base].value if base in group else None)
        staged_if(staging, flag, optimizer.step, lambda: None, tuple, lambda _: None, (), 0)
    if not groups:
        return None
    for base in bases:
        is_conditional = isinstance(before[base], Maybe)
        gradients.set(base, before[base].value if base in decided else None if is_conditional else before[base])
    return before


def after_step(optimizer, args, kwargs):
    """Called after `Optimizer.step`. Restores the gradients that `before_step` has hidden."""
    staging = current()
    for base, gradient in () if staging is None else staging.stepping.pop(id(optimizer), {}).items():
        staging.gradients.set(base, gradient)


def _updated(staging, optimizer):
    """Returns the parameters that have a gradient."""
    return [p for p in _parameters(optimizer) if staging.gradients.of(staging.view_of(p).base) is not None]


def _lacks_state(optimizer, parameters):
    """Returns whether a step creates state for one of these parameters."""
    if isinstance(optimizer, torch.optim.SGD) and not any(group["momentum"] for group in optimizer.param_groups):
        return False
    return hasattr(optimizer, "_init_group") and any(p.requires_grad and not optimizer.state.get(p) for p in parameters)


def _is_lazy(optimizer):
    if isinstance(optimizer, torch.optim.SGD):
        return any(group["momentum"] and not group["dampening"] for group in optimizer.param_groups)
    return hasattr(optimizer, "_init_group")


@torch.no_grad()
def prepare(staging, optimizer):
    """Creates the state of an optimizer that has not taken a step."""
    staging.prepared.add(id(optimizer))
    before = staging.gradients.snapshot()
    for group in optimizer.param_groups:
        new = [p for p in group["params"] if p.requires_grad and not optimizer.state.get(p)]
        if isinstance(optimizer, torch.optim.SGD):
            # Without dampening, momentum that starts from zeros equals torch's.
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
