"""Intercepts the Python functions of torch that would read data, gradients or sizes of a tensor during tracing."""

import functools
import operator
import sys

import torch

from ..capture import data_attribute, gradients, scalars, texts
from ..capture.pausing import OfTrace
from ..capture.permanent import OF_TORCH
from ..capture.rows import resolved
from ..capture.staging import current
from ..conversion import spans
from ..errors import IN_PYTHON, NeedsPython, StagingError
from ..operators import specs
from ..operators.lists import positions
from ..operators.ranges import Items, Zip
from ..operators.regions import KEEP, condition
from ..operators.sequences import collected
from ..operators.values import List
from ..record.types import BOOL
from . import hooks, indexing, stacks


class Interception(OfTrace):
    """A mode that runs above autograd and bypasses it, because gradients are nodes of the record."""

    def __init__(self, staging):
        super().__init__()
        self.staging = staging

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        self.staging.called = func
        if self.staging.trees is not None:
            args, kwargs = resolved((tuple(args), kwargs))
        if kwargs.get("requires_grad") is True and func is not T.requires_grad_:  # torch.zeros(2, requires_grad=True)
            kwargs = {name: value for name, value in kwargs.items() if name != "requires_grad"}
            return _requires_grad_(self.staging, func, self.__torch_function__(func, types, args, kwargs))
        special = SPECIAL.get(func)
        if special is not None:
            result = special(self.staging, func, *args, **kwargs)
            if result is not NotImplemented:
                return result
        if torch._C._functorch.peek_interpreter_stack() is not None:
            return _in_transform(func, args, kwargs)
        with torch._C._AutoDispatchBelowAutograd():
            if any(isinstance(a, List) and a.value is not None for a in args):
                return stacks.call(self.staging, func, args, kwargs)
            return func(*args, **kwargs)


def _in_transform(func, args, kwargs):
    """Calls a function inside a transform of `torch.func`. `vmap` decomposes the function. A transform that
    differentiates is an error, because it needs autograd, which the trace bypasses."""
    kind = torch._C._functorch.peek_interpreter_stack().key()
    if kind != torch._C._functorch.TransformType.Vmap:
        raise StagingError(f"the transform {kind.name} of torch.func cannot be staged", spans.current())
    return func(*args, **kwargs)


def _numbers(staging, func, *args, **kwargs):
    """Calls a function with staged numbers in place of 0-d integer tensors, which torch accepts as sizes and bounds."""
    if not any(map(_is_number_tensor, [*args, *kwargs.values()])):
        return NotImplemented
    args = [staging.item(a) if _is_number_tensor(a) else a for a in args]
    kwargs = {k: staging.item(a) if _is_number_tensor(a) else a for k, a in kwargs.items()}
    with torch._C._AutoDispatchBelowAutograd():
        return func(*args, **kwargs)


def _numbers_of(staging, func, tensor, *args, **kwargs):
    """Calls a method of a tensor with staged numbers in place of 0-d integer tensors, like `_numbers`."""
    return _numbers(staging, functools.partial(func, tensor), *args, **kwargs)


def _is_number_tensor(value):
    """Returns whether this is a tensor of one integer or boolean. Inside `vmap`, a tensor with a batch has many."""
    is_integer = isinstance(value, torch.Tensor) and value.dim() == 0 and not value.is_floating_point()
    return is_integer and not torch._C._functorch.is_batchedtensor(value)


def _index(staging, index):
    """Returns an index in which staged numbers replace the tensors that Python would convert to numbers."""
    if isinstance(index, tuple):
        return tuple(_index(staging, part) for part in index)
    if isinstance(index, slice):
        bounds = (index.start, index.stop, index.step)
        return slice(*(staging.item(b) if isinstance(b, torch.Tensor) else b for b in bounds))
    if _is_number_tensor(index) and index.dtype not in (torch.bool, torch.uint8):
        return staging.item(index)
    return positions(index) if isinstance(index, list) else index


def _getitem(staging, func, tensor, index):
    index = _index(staging, index)
    if scalars.is_staged(index) or isinstance(index, (tuple, slice)) and indexing.is_staged_index(index):
        with torch._C._AutoDispatchBelowAutograd():
            return indexing.get(tensor, index)
    with torch._C._AutoDispatchBelowAutograd():
        return func(tensor, index)


def _setitem(staging, func, tensor, index, value):
    if value is KEEP:
        return None
    index = _index(staging, index)
    if scalars.is_staged(value):
        value = staging.adopt_value(staging.tensor_of(value, tensor.dtype))
    if indexing.is_staged_index(index):
        with torch._C._AutoDispatchBelowAutograd():
            return indexing.set(tensor, index, value)
    with torch._C._AutoDispatchBelowAutograd():
        return func(tensor, index, value)


def _item(staging, func, tensor):
    return staging.item(tensor)


def _tolist(staging, func, tensor):
    if tensor.dim() == 0:
        return staging.item(tensor)
    rows = _unbind(staging, torch.unbind, tensor)
    return [_tolist(staging, func, row) for row in (tensor.unbind() if rows is NotImplemented else rows)]


def _unbind(staging, func, tensor, dim=0):
    """Implements `Tensor.unbind`. An unknown number of parts is decided for the arguments of the call."""
    with torch._C.DisableTorchFunctionSubclass():
        size = tensor.shape[dim]
    if type(size) is int:
        return NotImplemented
    size = staging.sizes.seen(tensor, dim, size)
    count = staging.decided_number(size) if scalars.is_staged(size) else None
    if count is None:
        return NotImplemented
    with torch._C._AutoDispatchBelowAutograd():
        return tuple(tensor.select(dim, index) for index in range(count))


def _format(staging, func, tensor, spec="", **_):
    return texts.formatted(staging, tensor, spec)


def _repr(staging, func, tensor, **_):
    return texts.placeholder(staging, tensor, repr)


def _truth(staging, func, tensor):
    """Called when code that is not converted branches on a tensor."""
    answer = staging.decided(condition(staging, tensor, "`bool`"))
    return _needs_data("Python needs to know whether a tensor is true")(staging, func, tensor) if answer is None else answer


def _deepcopy(staging, func, tensor, memo):
    if id(tensor) not in memo:
        requires_grad = gradients.requires_grad(staging, tensor)
        if requires_grad and not gradients.is_leaf(staging, tensor):
            message = "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment."
            raise RuntimeError(message)
        copy = tensor.detach().clone()
        memo[id(tensor)] = copy.requires_grad_() if requires_grad else copy
    return memo[id(tensor)]


def _needs_data(what, error=StagingError):
    """Returns a function that raises an error, because it would read the data of a tensor."""

    def special(staging, func, tensor, *args, **kwargs):
        raise error(f"{what}, but it is only known when the graph runs{IN_PYTHON}", spans.current())

    return special


def _number(kind):
    """Returns a function that returns the number in a tensor, decided for the arguments of the call. Called when code that is
    not converted needs a number of this class: `[1, 2][:n]`, `math.sqrt(x)`."""
    refuse = _needs_data("Python needs the number in a tensor")

    def special(staging, func, tensor):
        number = staging.decided_number(staging.item(tensor))
        return refuse(staging, func, tensor) if number is None else kind(number)

    return special


def _size(staging, func, tensor, dim=None):
    shape = _shape(staging, func, tensor)
    if shape is NotImplemented:
        return shape
    return shape if dim is None else shape[dim]


def _shape(staging, func, tensor, *_):
    with torch._C.DisableTorchFunctionSubclass():
        shape = tensor.shape
        if all(type(n) is int for n in shape):
            return NotImplemented
        return torch.Size([n if type(n) is int else staging.sizes.seen(tensor, d, n) for d, n in enumerate(shape)])


def _numel(staging, func, tensor):
    shape = _shape(staging, func, tensor)
    if shape is NotImplemented:
        return shape
    product = 1
    for n in shape:
        product = n * product
    return product


def _len(staging, func, tensor):
    shape = _shape(staging, func, tensor)
    if shape is NotImplemented or type(shape[0]) is int:
        return NotImplemented
    message = "the length is only known when the graph runs; call `len` in converted code"
    raise StagingError(message, spans.current())


def _requires_grad_(staging, func, tensor, requires_grad=True):
    """Implements `tensor.requires_grad_()`: the tensor becomes a leaf of the graph, or stops being one."""
    view = staging.view_of(tensor)
    base, is_leaf = view.base, view.base in staging.leaves
    if view.chain:  # `x.detach().requires_grad_()`
        if requires_grad:
            staging.leaf_views[view], view.depth = tensor, staging.depth
            staging.made_leaves.append(staging.aliases.read(view))
        else:
            staging.leaf_views.pop(view, None)
        return tensor
    if is_leaf == bool(requires_grad):
        return tensor
    if not requires_grad and not is_leaf and gradients.has_history(staging, tensor):
        raise RuntimeError("you can only change requires_grad flags of leaf variables.")
    if base.depth < staging.depth:
        message = "in a staged branch or loop, `requires_grad` of a tensor from outside of it cannot be changed"
        raise StagingError(f"{message}\nhelp: change it before", spans.current())
    gradients.set_leaf(staging, base, requires_grad)
    return tensor


def _get_requires_grad(staging, func, tensor, *_):
    return gradients.requires_grad(staging, tensor)


def _get_is_leaf(staging, func, tensor, *_):
    if not gradients.requires_grad(staging, tensor):
        return True
    outside = staging.source_of(tensor)
    return gradients.is_leaf(staging, tensor) and (outside is None or outside.is_leaf)


def _get_grad_fn(staging, func, tensor, *_):
    """Implements `tensor.grad_fn`. Code of torch, such as `checkpoint`, gets None."""
    reader = sys._getframe(2).f_code
    if _get_is_leaf(staging, func, tensor) or reader.co_filename.startswith(OF_TORCH):
        return None
    message = "`grad_fn` is a node of autograd, which a tensor of a graph does not have"
    raise StagingError(f"{message}\nhelp: read `requires_grad` or `is_leaf`", spans.current())


def _set_requires_grad(staging, func, tensor, value):
    _requires_grad_(staging, func, tensor, value)


def _retain_grad(staging, func, tensor):
    view = staging.view_of(tensor)
    if gradients.is_leaf(staging, tensor):
        return
    if not gradients.requires_grad(staging, tensor):
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if view.chain:
        message = "the gradient of a view cannot be retained"
        raise StagingError(f"{message}\nhelp: compute it with `torch.autograd.grad`", spans.current())
    staging.retained.add(view.base)


def _get_grad(staging, func, tensor, *_):
    view = staging.view_of(tensor)
    node = view.base.value.node
    if staging.retained and view.base not in staging.retained and node is not None and node.regions:
        message = "whether this tensor retains its gradient is only known when the graph runs"
        raise StagingError(f"{message}\nhelp: give another name to the tensor that the branch or loop creates", spans.current())
    with torch._C.DisableTorchFunctionSubclass():
        return staging.gradients.read(gradients.owner(staging, tensor))


def _set_grad(staging, func, tensor, value):
    staging.gradients.set(gradients.owner(staging, tensor), value)


def _data(staging, func, tensor, *_):
    return tensor.detach()


def _set_data(staging, func, tensor, other):
    data_attribute.assign(staging, tensor, other)


def as_subclass(tensor, kind):
    """Replaces `Tensor.as_subclass` while a function is traced, because torch does not dispatch it to modes."""
    if current() is None:  # in `ag.init_scope`
        return torch._C.TensorBase.as_subclass(tensor, kind)
    if kind is torch.Tensor:
        return tensor.view_as(tensor)
    message = f"a tensor of the class `{kind.__name__}` cannot be part of a graph"
    raise StagingError(f"{message}\nhelp: use plain tensors here, or call this outside of the staged function", spans.current())


def _tensor(staging, func, data, *, dtype=None, device=None, requires_grad=False, **kwargs):
    """Stacks the elements of `torch.tensor([i, x.item()])`, of which some are staged."""
    if not _has_staged(data):
        return NotImplemented
    if isinstance(data, List) and data.value is not None:
        result = _of_list(staging, data, dtype)
    else:
        result = _stacked(staging, data, dtype)
    return result if device is None else result.to(device)


def _as_tensor(staging, func, data, dtype=None, device=None, **kwargs):
    """`torch.as_tensor(array)` shares memory with an array of NumPy, as `torch.from_numpy` does."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(data, numpy.ndarray) and device is None and not kwargs:
        tensor = torch.from_numpy(data)
        return tensor if dtype is None else tensor.to(dtype)
    if isinstance(data, torch.Tensor) and not kwargs:
        if func is torch.asarray and gradients.requires_grad(staging, data):
            message = "`torch.asarray` of a tensor that requires a gradient cannot be staged"
            raise StagingError(f"{message}\nhelp: use `torch.as_tensor`, or `detach()`", spans.current())
        return data.to(device or data.device, dtype or data.dtype)
    return _tensor(staging, func, data, dtype=dtype, device=device) if not kwargs else NotImplemented


def _storage_offset(staging, func, tensor):
    if staging.view_of(tensor).base.source is not None:
        message = "`storage_offset()` of a tensor from outside is not the same in each call"
        raise StagingError(f"{message}\nhelp: read it outside of the staged function", spans.current())
    return NotImplemented


def _has_staged(data):
    if isinstance(data, List) and data.value is not None:
        return True
    if isinstance(data, (list, tuple)):
        return any(map(_has_staged, data))
    return scalars.is_staged(data) or isinstance(data, torch._subclasses.FakeTensor)


def _of_list(staging, data, dtype):
    """Converts the elements of a list of the graph to tensors, in a loop. A stack of no tensors would be an error, so
    one more number is stacked. Without `dtype`, `torch.tensor([])` has another dtype than a list of integers, so the
    graph assumes that the list is not empty."""
    kind = specs.number_kind(data.spec.element)
    is_filled = dtype is None or kind is None
    if is_filled:
        _, line, *_ = spans.current()
        flag = scalars.lower(staging, data.length() > 0)
        staging.assume(flag, f"the list in line {line} is not empty")
    else:
        data = data.copy()
        data.append(False if kind == BOOL else 0)
    tensors = collected(Zip([Items(data)]), lambda results, row: results.append(_stacked(staging, row[0], dtype)))
    with torch._C._AutoDispatchBelowAutograd():
        stacked = stacks.call(staging, torch.stack, (tensors,), {})
    return stacked if is_filled else stacked[:-1]


def _stacked(staging, data, dtype):
    if isinstance(data, (list, tuple)):
        return torch.stack([_stacked(staging, element, dtype) for element in data])
    if isinstance(data, torch.Tensor):
        copy = data.detach().clone()
        return copy if dtype is None else copy.to(dtype)
    return staging.adopt_value(staging.tensor_of(data, dtype))


def _equal(staging, func, tensor, other):
    """Returns a staged boolean: whether two tensors are equal. Torch returns a Python boolean."""
    if tuple(tensor.shape) != tuple(other.shape):
        return False
    with torch._C._AutoDispatchBelowAutograd():
        return staging.item((tensor == other).all())


def _all_close(staging, func, *args, **kwargs):
    with torch._C._AutoDispatchBelowAutograd():
        return staging.item(torch.isclose(*args, **kwargs).all())


T = torch.Tensor
SPECIAL = {
    T.__getitem__: _getitem,
    T.__setitem__: _setitem,
    T.item: _item,
    T.tolist: _tolist,
    T.unbind: _unbind,
    torch.unbind: _unbind,
    T.__format__: _format,
    T.__repr__: _repr,
    T.numpy: _needs_data("`numpy()` needs the data of a tensor", NeedsPython),
    T.__array__: _needs_data("numpy needs the data of a tensor", NeedsPython),
    T.__bool__: _truth,
    T.__deepcopy__: _deepcopy,
    T.__int__: _number(int),
    T.__float__: _number(float),
    T.__index__: _number(operator.index),
    T.__complex__: _needs_data("Python needs the number in a tensor"),
    T.__len__: _len,
    T.shape.__get__: _shape,
    T.size: _size,
    T.numel: _numel,
    T.storage_offset: _storage_offset,
    T.requires_grad_: _requires_grad_,
    T.requires_grad.__get__: _get_requires_grad,
    T.requires_grad.__set__: _set_requires_grad,
    T.is_leaf.__get__: _get_is_leaf,
    T.grad_fn.__get__: _get_grad_fn,
    T.retain_grad: _retain_grad,
    T.grad.__get__: _get_grad,
    T.grad.__set__: _set_grad,
    T.data.__get__: _data,
    T.data.__set__: _set_data,
    torch.equal: _equal,
    T.equal: _equal,
    torch.allclose: _all_close,
    T.allclose: _all_close,
    torch.tensor: _tensor,
    torch.as_tensor: _as_tensor,
    torch.asarray: _as_tensor,
}


def _autograd_grad(
    staging, func, outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False,
    only_inputs=True, allow_unused=None, is_grads_batched=False, materialize_grads=False,
):  # fmt: skip
    if is_grads_batched:
        raise StagingError("`is_grads_batched` cannot be staged", spans.current())
    releases = not (create_graph if retain_graph is None else retain_graph)
    with torch._C._AutoDispatchBelowAutograd():
        return gradients.grad(
            staging, outputs, inputs, grad_outputs, allow_unused, materialize_grads, create_graph, releases=releases
        )


def _backward(staging, func, tensor, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    with torch._C._AutoDispatchBelowAutograd():
        releases = not (create_graph if retain_graph is None else retain_graph)
        leaves = gradients.backward(staging, tensor, gradient, inputs, releases)
        with Interception(staging):
            for function in list(staging.after_backward.values()):
                function(staging, leaves)


for _factory in (
    torch.arange, torch.zeros, torch.ones, torch.empty, torch.full, torch.eye, torch.rand, torch.randn, torch.randint,
    torch.randperm, torch.linspace,
):  # fmt: skip
    SPECIAL[_factory] = _numbers
for _method in (
    T.expand, T.view, T.reshape, T.narrow, torch.narrow, T.repeat, T.new_zeros, T.new_ones, T.select, torch.select,
):  # fmt: skip
    SPECIAL[_method] = _numbers_of
SPECIAL[torch.autograd.grad] = _autograd_grad
SPECIAL[T.backward] = _backward
SPECIAL[T.register_hook] = hooks.register_hook
