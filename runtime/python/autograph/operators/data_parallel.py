"""`DistributedDataParallel` in staged code.

`DistributedDataParallel` averages gradients when a backward pass has accumulated them in `.grad`. If staged code calls
`backward`, the graph averages the gradients after this call. Otherwise torch's own reducer averages them during the
backward pass outside of the graph. Each run notifies the reducer that a forward pass has begun."""

import torch
from torch.nn.parallel import DistributedDataParallel

from ..capture import gradients
from ..capture.staging import current
from ..capture.unbound import Maybe
from ..conversion import spans
from ..errors import StagingError
from . import calls
from .average_gradients import average_gradients
from .overloads import OVERLOADS

_forward = DistributedDataParallel.forward

#: The attributes of the module that determine what its forward pass does.
_STATE = ("require_backward_grad_sync", "require_forward_param_sync", "broadcast_buffers", "static_graph")


def forward(module, *args, **kwargs):
    """`DistributedDataParallel.forward`, staged."""
    staging = current()
    if staging is None:
        return _forward(module, *args, **kwargs)
    _check(module)
    staging.objects.names.update(_STATE)
    staging.objects.watch(module)
    is_synchronized = torch.is_grad_enabled() and module.require_backward_grad_sync
    if is_synchronized:
        replica = _Replica(module)
        staging.after_backward[id(module)] = replica.after_backward
        staging.call_python(replica.before_forward, [], [])
    else:
        staging.after_backward.pop(id(module), None)
    if module.will_sync_module_buffers():
        _broadcast(module.modules_buffers, module.process_group)
    result = calls.module(module.module, args, kwargs)
    module.require_forward_param_sync = is_synchronized
    return result


OVERLOADS[_forward] = forward


class _Replica:
    """A forward pass of the copy of a model in this process."""

    def __init__(self, module):
        self.module = module
        self.is_averaged = False  # whether the graph averages the gradients

    def before_forward(self):
        """Called by each run of the graph. Prepares the reducer, as `DistributedDataParallel` does in each forward pass."""
        module = self.module
        if not self.is_averaged and torch._C._current_graph_task_id() == -1:  # a backward pass may run the graph again
            if not module._lazy_init_ran:
                module._lazy_init()
            module.logger.set_runtime_stats_and_log()
            module.reducer.prepare_for_forward()
            if module.reducer._rebuild_buckets():
                module._has_rebuilt_buckets = True
            module.reducer.prepare_for_backward([])
        return ()

    def after_backward(self, staging, leaves):
        """Averages the gradients of `leaves`, which a backward pass has computed."""
        ignored = getattr(self.module, "parameters_to_ignore", ())
        named = [(n, p) for n, p in self.module.module.named_parameters() if p.requires_grad and n not in ignored]
        found = {id(gradients.owner(staging, leaf)) for leaf in leaves}
        owners = [gradients.owner(staging, parameter) for _, parameter in named]
        if not any(id(owner) in found for owner in owners):
            return
        for (name, _), owner in zip(named, owners):
            if id(owner) not in found or isinstance(staging.gradients.of(owner), Maybe):
                message = f"the loss does not depend on the parameter `{name}` of a `DistributedDataParallel` module in each run"
                help = 'stage the inner module, `ddp.module`, and call `ag.average_gradients(…, missing="zeros")` after `backward`'
                raise StagingError(f"{message}\nhelp: {help}", spans.current())
        self.is_averaged = True
        average_gradients([parameter for _, parameter in named], self.module.process_group)


def _check(module):
    """Raises an error for options of the module that a graph would ignore."""
    reasons = {
        "`find_unused_parameters=True`": module.find_unused_parameters,
        "`static_graph=True`": module.static_graph,
        "`mixed_precision`": module.mixed_precision is not None,
        "`delay_all_reduce_named_params`": module._delay_all_reduce_all_params or module._delay_all_reduce_params,
        "a communication hook": bool(module._comm_hooks) or hasattr(module, "buffer_hook"),
        "`join`": module._join_config.enable,
        "a reducer in Python": module._use_python_reducer,
    }
    for name, is_used in reasons.items():
        if is_used:
            message = f"a `DistributedDataParallel` module with {name} cannot be staged"
            help = "stage the inner module, `ddp.module`, and call `ag.average_gradients(ddp.module.parameters())` after `backward`"
            raise StagingError(f"{message}\nhelp: {help}", spans.current())


@torch.no_grad()
def _broadcast(buffers, group):
    """Sends the buffers of the first process to all others."""
    source = torch.distributed.get_global_rank(group, 0)
    for dtype in dict.fromkeys(buffer.dtype for buffer in buffers):
        parts = [buffer for buffer in buffers if buffer.dtype == dtype]
        flat = torch.cat([buffer.reshape(-1) for buffer in parts])
        torch.distributed.broadcast(flat, source, group)
        for buffer, part in zip(parts, flat.split([buffer.numel() for buffer in parts])):
            buffer.copy_(part.view(buffer.shape))
