"""`ag.average_gradients`: the gradients of data-parallel training, in staged code and in Python."""

import torch

from . import processes
from .overloads import OVERLOADS


def average_gradients(parameters, group=None, *, missing="error", bucket_cap_mb=25):
    """Replaces the gradient of each parameter by its average over all processes of a group.

        loss.backward()
        ag.average_gradients(model.parameters())
        optimizer.step()

    All processes must call it with the same parameters in the same order. Parameters with `requires_grad=False` are
    left out. Like `torch.nn.parallel.DistributedDataParallel`, it multiplies each gradient by `1 / size` and adds the
    products, with one `all_reduce` for each *bucket*: consecutive parameters of one dtype and device, up to a size. The
    last bucket is started first, because a backward pass computes its gradients first. All buckets are started before
    the call waits for one of them. A graph starts a bucket when its gradients are computed, and waits for it at the
    first use of its results.

    In groups of two processes, results are bitwise equal to those of `DistributedDataParallel`. In larger groups, the order of
    additions depends on the position of an element in its bucket, and `DistributedDataParallel` reorders its buckets after
    the first step.

    Args:
        parameters: a tensor, or an iterable of tensors, such as `model.parameters()`.
        group: a process group; None is the default group.
        missing: what happens if a parameter has no gradient, for example because the loss does not depend on it:
            `"error"` raises a ValueError; `"zeros"` uses zeros, because other processes may have a gradient. Afterwards
            the parameter has a gradient.
        bucket_cap_mb: the size in MiB at which a bucket is full.

    Raises:
        RuntimeError: `torch.distributed` is not initialized.
        ValueError: a parameter has no gradient, or a sparse one; nothing has been sent or changed.
    """
    if missing not in ("error", "zeros"):
        raise ValueError(f'`missing` is "error" or "zeros", not {missing!r}')
    parameters = [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)
    if not torch.distributed.is_available() or not torch.distributed.is_initialized():
        message = "`ag.average_gradients` needs a process group"
        raise RuntimeError(f"{message}: call `torch.distributed.init_process_group`, and start the program with `torchrun`")
    size = torch.distributed.get_world_size(group)
    if size < 1:
        raise ValueError("this process does not belong to the group")
    with torch.no_grad():
        gradients = _gradients(parameters, missing)
        if size == 1:
            return
        processes.register()
        with processes.named():
            buckets = buckets_of(gradients, bucket_cap_mb * 2**20)
            started = [_start(bucket, size, group) for bucket in reversed(buckets)]
        for bucket, flat, work in started:
            with processes.named():
                work.wait()
            parts = flat.split([gradient.numel() for gradient in bucket])
            for gradient, part in zip(bucket, parts):
                gradient.copy_(part.view(gradient.shape))


def _gradients(parameters, missing):
    found = []
    for index, parameter in enumerate(parameters):
        if not parameter.requires_grad:
            continue
        gradient = parameter.grad
        if gradient is None and missing == "error":
            message = f"parameter {index} of shape {list(parameter.shape)} has no gradient"
            help = 'call `backward` before; if the loss does not depend on all parameters, use `missing="zeros"`'
            raise ValueError(f"{message}\nhelp: {help}")
        if gradient is not None and gradient.layout is not torch.strided:
            raise ValueError(f"the gradient of parameter {index} is sparse\nhelp: use `sparse=False` in the embedding")
        found.append((parameter, gradient))
    for parameter, gradient in found:
        if gradient is None:
            parameter.grad = torch.zeros_like(parameter)
    return [parameter.grad for parameter, _ in found]


def buckets_of(gradients, cap):
    """Returns the buckets: lists of gradients with the same dtype and device. The lists are the same in all
    processes."""
    open_buckets, full = {}, []
    for gradient in gradients:
        key = gradient.dtype, gradient.device
        bucket, bytes = open_buckets.pop(key, ([], 0))
        bucket.append(gradient)
        bytes += gradient.numel() * gradient.element_size()
        if bytes >= cap:
            full.append(bucket)
        else:
            open_buckets[key] = bucket, bytes
    return full + [bucket for bucket, _ in open_buckets.values()]


def _start(bucket, size, group):
    flat = torch.cat([gradient.reshape(-1) for gradient in bucket]) * (1 / size)
    return bucket, flat, torch.distributed.all_reduce(flat, group=group, async_op=True)


#: In staged code, the function itself is traced.
OVERLOADS[average_gradients] = average_gradients
