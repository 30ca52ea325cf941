"""Functionalization: an in-place operator computes a new value of the tensor that it writes to."""

import torch

from ..capture import views
from ..capture.aliases import Step, View
from ..conversion import spans
from ..errors import StagingError
from ..record.ops import of_torch
from . import schemas

aten = torch.ops.aten

_COPY = aten.copy_.default
_EXPAND = of_torch(aten.expand.default)

#: Operators that replace the memory of a tensor.
_OF_MEMORY = {aten.set_.source_Tensor, aten.resize_.default}

#: Operators that change the sizes and strides of a tensor, not its values.
_OF_SHAPE = {
    aten.t_.default: aten.t.default,
    aten.transpose_.default: aten.transpose.int,
    aten.unsqueeze_.default: aten.unsqueeze.default,
    aten.squeeze_.default: aten.squeeze.default,
    aten.squeeze_.dim: aten.squeeze.dim,
    aten.squeeze_.dims: aten.squeeze.dims,
}


def functionalize(staging, func, args, kwargs):
    """Calls the functional form of an operator that writes to its operands, and assigns its results to the operands. The
    active recorder records the call."""
    ordered = schemas.in_order(func, args, kwargs)
    if func is _COPY or torch.Tag.pointwise in func.tags:
        _check_overlap(staging, ordered[schemas.written(func)[0]], ordered)
    if func is _COPY:
        return copy(staging, ordered[0], ordered[1])
    if func in _OF_SHAPE:
        return _reshaped(staging, func, ordered)
    if func in _OF_MEMORY:
        raise StagingError(f"{func} cannot be staged", spans.current())
    functional = schemas.functional(func)
    if functional is None:
        message = f"{func} changes its argument and has no functional form: it cannot be staged"
        raise StagingError(message, spans.current())
    positions = schemas.written(func)
    in_place = not schemas.arguments(func)[positions[0]][2]
    names = {name for name, _, _ in schemas.arguments(functional)}
    arguments = [
        (name, value, keyword_only)
        for (name, _, keyword_only), value in zip(schemas.arguments(func), ordered)
        if name in names
    ]
    positional = [value for _, value, keyword_only in arguments if not keyword_only]
    named = {name: value for name, value, keyword_only in arguments if keyword_only}
    result = functional(*positional, **named)
    results = result if isinstance(result, (tuple, list)) else (result,)
    targets = [ordered[position] for position in positions]
    # The first results of an operator such as `_native_batch_norm_legit` are returned, and the others are written.
    unwritten = max(len(results) - len(targets), 0)
    # The written results of such an operator, which are batch statistics, have no derivative.
    with torch.set_grad_enabled(torch.is_grad_enabled() and not unwritten):
        for target, new in zip(targets, results[unwritten:]):
            _store(staging, target, new, in_place)
    if unwritten:
        return results[0] if unwritten == 1 else results[:unwritten]
    return targets[0] if len(targets) == 1 else tuple(targets)


_OVERLAP = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory location. "
    "Please clone() the tensor before performing the operation."
)


def _check_overlap(staging, target, operands):
    """Raises the exception of torch if an operand is another part of the memory that an elementwise operator writes to:
    `x[1:] += x[:-1]`."""
    written = _interval(staging, target)
    for operand in operands:
        if written is None or not isinstance(operand, torch.Tensor):
            continue
        read = _interval(staging, operand)
        if read is None or read == written or read[0] is not written[0]:
            continue
        if read[1] < written[2] and written[1] < read[2]:
            raise RuntimeError(_OVERLAP)


def _interval(staging, tensor):
    """Returns the base of a tensor, where its elements begin and end in the base, and their strides. Returns None if this is not
    known, or if there are other elements between them."""
    view, fake = staging.view_of(tensor), staging.fake_of(tensor)
    steps = [step for step in view.chain if step.op in _MOVING]
    if any(type(argument) is not int for step in steps for argument in step.rest if argument is not None):
        return None
    with torch._C.DisableTorchFunction():
        sizes, strides, start = fake.shape, fake.stride(), fake.storage_offset()
    if not all(type(n) is int for n in (*sizes, *strides, start)):
        return None
    count = 1
    for stride, size in sorted((stride, size) for stride, size in zip(strides, sizes) if size != 1):
        if stride != count:
            return None
        count *= size
    return view.base, start, start + count, strides


#: View operations with a result that begins elsewhere in the memory.
_MOVING = {aten.select.int, aten.slice.Tensor, aten.diagonal.default, aten.as_strided.default}


def _store(staging, target, new, in_place):
    fake = staging.fake_of(target)
    if tuple(new.shape) != tuple(fake.shape):
        if in_place or fake.numel() != 0:
            raise StagingError(
                f"a result of shape {list(new.shape)} does not fit in place of one of shape {list(fake.shape)}",
                spans.current(),
            )
        raise StagingError("`out=` of another shape cannot be staged", spans.current())
    if new.dtype != fake.dtype:
        if not torch.can_cast(new.dtype, fake.dtype):
            raise StagingError(f"a result of type {new.dtype} does not fit in place of {fake.dtype}", spans.current())
        new = new.to(fake.dtype)
    assign(staging, target, staging.value_of(new))


def assign(staging, target, value):
    """Changes a tensor in place: assigns a value of the record to it."""
    view = staging.view_of(target)
    staging.aliases.write(view, value)


def copy(staging, target, source):
    """Assigns a tensor to another: `target.copy_(source)`, `target[…] = source`."""
    fake, new = staging.fake_of(target), staging.fake_of(source)
    if staging.view_of(target).is_same_view(staging.view_of(source)):
        return target
    if new.dtype != fake.dtype or new.device != fake.device:
        new = new.to(device=fake.device, dtype=fake.dtype)
    if not all(type(n) is int for n in (*new.shape, *fake.shape)):
        new = _expanded(staging, new, fake)
    elif new.shape != fake.shape:
        new = new.expand(fake.shape)
    assign(staging, target, staging.value_of(new))
    return target


def _expanded(staging, new, fake):
    """Expands a tensor to sizes that are known only when the graph runs: `y[n:] = y[n:] * 2`."""
    if [str(n) for n in new.shape] == [str(n) for n in fake.shape]:
        return new
    args = [staging.value_of(new), [staging.operand(n) for n in fake.shape], False]
    return staging.fresh(staging.emit(_EXPAND, args, [views.result_type(fake)])[0])


def _reshaped(staging, func, ordered):
    tensor = staging.fake_of(ordered[0])
    if tensor is not ordered[0]:
        raise StagingError(f"{func} on a tensor from outside the staged function cannot be staged", spans.current())
    source = staging.view_of(tensor)
    if source.base.source is not None and not source.chain:
        message = f"{func} changes the shape of a tensor from outside, which cannot be staged"
        raise StagingError(f"{message}\nhelp: call it on a view of the tensor: `x = x.view_as(x)`", spans.current())
    rest = [staging.operand(a) for a in ordered[1:]]
    step = Step(_OF_SHAPE[func], rest, views.result_type(tensor), tuple(tensor.shape))
    value = staging.aliases.read(source)
    with staging.quiet():
        func(tensor, *ordered[1:])
    value = views.emit(staging, step, value, views.result_type(tensor))
    tensor.__dict__["_ag_view"] = View(source.base, (*source.chain, step), value)
    return tensor


def for_each(func, args, kwargs):
    """Calls one operator for each element of the lists in `torch._foreach_add(xs, ys)`."""
    name = func.overloadpacket.__name__.removeprefix("_foreach_")
    packet = getattr(aten, name)
    ordered = dict(zip((n for n, _, _ in schemas.arguments(func)), schemas.in_order(func, args, kwargs)))
    first = ordered.pop("self")
    types = {n: t for n, t, _ in schemas.arguments(func)}
    results = []
    for index, tensor in enumerate(first):
        rest, named = [], {}
        for key, value in ordered.items():
            if isinstance(value, (list, tuple)) and types[key].startswith("List"):
                value = value[index]
            if key in ("alpha", "value", "dtype") and value is not None:
                named[key] = value
            elif key not in ("alpha", "value", "dtype", "non_blocking"):
                rest.append(value)
        if name in ("addcmul", "addcdiv", "addcmul_", "addcdiv_") and len(rest) == 3:
            named["value"] = rest.pop()
        results.append(packet(tensor, *rest, **named))
    return None if name.endswith("_") else results
