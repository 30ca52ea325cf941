"""Records the operations that reach torch's dispatcher while tracing, and computes their results as fake tensors."""

import sys

import torch
from torch._decomp import decomposition_table
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    UnsupportedOperatorException,
)
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from ..capture import gradients, layouts, scalars, views
from ..capture.aliases import Step, View
from ..capture.fakes import called_without_dynamo
from ..capture.staging import attach
from ..conversion import spans
from ..errors import IN_PYTHON, NeedsPython, RunInPython, StagingError
from ..record.ops import LIST_GET, of_torch, operator_of
from ..record.types import BOOL, FLOAT, INT, NONE, ListType, TensorType
from . import collectives, composites, inplace, recurrent, schemas, shapes, torch_generators

aten = torch.ops.aten

_DEVICE = torch.ops.prim.device.default
_CONTIGUOUS, _ALIAS, _DETACH = aten.contiguous.default, aten.alias.default, aten.detach.default
_FULL = of_torch(aten.full.default)
_COMPLEX, _SCALAR_TENSOR = of_torch(aten.complex.default), of_torch(aten.scalar_tensor.default)
_SLICE = aten.slice.Tensor
_BATCH_NORM = aten._native_batch_norm_legit_no_training.default
_BATCH_NORM_WITHOUT_STATISTICS = aten._native_batch_norm_legit.no_stats
_BATCH_NORM_WITH_STATISTICS = aten._native_batch_norm_legit_functional.default

#: Composite operators that are recorded as one node instead of being decomposed.
_NOT_DECOMPOSED = {aten.scaled_dot_product_attention.default}


class Recorder(TorchDispatchMode):
    """A mode that records ATen operators. It runs below autograd."""

    def __init__(self, staging):
        super().__init__()
        self.staging = staging

    @classmethod
    def _should_skip_dynamo(cls):
        return False

    @called_without_dynamo
    def __torch_dispatch__(self, func, types, args, kwargs):
        staging = self.staging
        if func is _DEVICE:
            return staging.fake_of(args[0]).fake_device
        special = _SPECIAL.get(func)
        if special is not None:
            result = special(staging, func, args, kwargs)
            if result is not NotImplemented:
                return result
        if func.namespace in collectives.NAMESPACES and not schemas.writes(func):
            collectives.refuse(func)
        if schemas.is_host_only(func):
            return func(*args, **kwargs)
        if schemas.is_composite(func) and not _is_kept(func, args, kwargs):
            args, kwargs = _with_sizes(staging, func, args, kwargs)
            try:
                with self:
                    return func.decompose(*args, **kwargs)
            except Exception:
                staging.refused_operands = True
                raise
        if func.overloadpacket._qualified_op_name.startswith("aten::_foreach_"):
            with self:
                return inplace.for_each(func, args, kwargs)
        if schemas.writes(func):
            with self:
                return inplace.functionalize(staging, func, args, kwargs)
        args = torch_generators.without_default(schemas.in_order(func, args, kwargs))
        if torch.is_grad_enabled() and schemas.has_sparse_gradient(func, args):
            _refuse_sparse(staging, args)
        fakes = [staging.fake_of(a) if isinstance(a, torch.Tensor) else a for a in args]
        if layouts.needs_contiguous(func):
            fakes = [contiguous(staging, fake) if isinstance(fake, torch.Tensor) else fake for fake in fakes]
        result = compute(staging, func, fakes)
        if schemas.is_view(func):
            return _view(staging, func, fakes, result)
        return emit(staging, func, fakes, result)


def _refuse_sparse(staging, args):
    if any(isinstance(arg, torch.Tensor) and gradients.requires_grad(staging, arg) for arg in args):
        raise RunInPython(StagingError("a sparse gradient cannot be staged", spans.current()), lasts=True)


def contiguous(staging, fake):
    """Returns the tensor, or a copy if it is not contiguous. The graph decides this when it runs."""
    with staging.quiet():
        copy = fake.clone(memory_format=torch.contiguous_format)
    return emit(staging, _CONTIGUOUS, [fake, torch.contiguous_format], copy)


def _is_kept(func, args, kwargs):
    """Returns whether a composite operator is recorded as one node. Attention with dropout is decomposed, because the
    derivative of one node would draw other random numbers."""
    return func in _NOT_DECOMPOSED and schemas.in_order(func, args, kwargs)[4] == 0


def _with_sizes(staging, func, args, kwargs):
    """Returns the arguments, with symbolic sizes in place of staged integers, because a decomposition compares them with sizes
    of tensors."""

    def sized(argument, type):
        if isinstance(argument, (list, tuple)):
            return [sized(element, type) for element in argument]
        if scalars.is_staged(argument) and scalars.kind_of(argument) == INT and "int" in type.lower():
            value = scalars.lower(staging, argument)
            return staging.sizes.number(value) if hasattr(value, "type") else value
        return argument

    types = {name: type for name, type, _ in schemas.arguments(func)}
    args = [sized(argument, type) for argument, type in zip(args, types.values())]
    return args, {name: sized(argument, types[name]) for name, argument in kwargs.items()}


def compute(staging, func, args):
    """Returns the result of an operation, as fake tensors."""

    def lowered(argument, type):
        if isinstance(argument, (list, tuple)):
            return [lowered(element, type) for element in argument]
        if isinstance(argument, torch.Tensor):
            return staging.fake_of(argument)
        if scalars.is_staged(argument):
            return _example(staging, func, argument, type)
        return None if isinstance(argument, torch.Generator) else argument

    ordered = [lowered(argument, type) for argument, type in zip(args, schemas.types(func))]
    result = shapes.known(staging.fake_mode, func, ordered)
    if result is None:
        result = _computed_by_torch(staging, func, ordered)
        shapes.keep(staging.fake_mode, func, ordered, result)
    return result


def _computed_by_torch(staging, func, args):
    """Returns the result of an operator on fake tensors. Raises a `StagingError` if torch cannot compute the shape."""
    positional, named = schemas.by_kind(func, args)
    if func is _SLICE and _is_last_slice(staging, *positional):
        tensor, dim = positional[:2]
        with staging.quiet():
            return tensor.narrow(dim, tensor.shape[dim] - 1, 1)
    if func is _SLICE and _has_unrelated_bounds(*positional):
        return _sliced(staging, *positional)
    if func in composites.UPSAMPLED:
        tensor, sizes = positional[:2]
        if any(isinstance(n, torch.SymInt) for n in (*tensor.shape, *sizes)):  # torch's shape function needs numbers
            with staging.quiet():
                return tensor.new_empty((*tensor.shape[:2], *sizes))
    try:
        with staging.quiet():
            try:
                return func(*positional, **named)
            except RuntimeError as error:
                # Some kernels of torch need numbers for all sizes. Torch's decompositions in Python work with unknown
                # sizes.
                if func not in decomposition_table or not _needs_numbers(error):
                    raise
                return decomposition_table[func](*positional, **named)
    except Exception as error:
        if not isinstance(error, _shape_errors()):
            staging.refused_operands = True
            raise
        message = f"the shape of the result of `{func.overloadpacket.__name__}` cannot be computed while tracing"
        raise NeedsPython(f"{message}: {str(error).splitlines()[0]}{IN_PYTHON}", spans.current()) from None


def _is_last_slice(staging, tensor, dim=0, start=None, end=None, step=1):
    """Returns whether this is `x[-1:]` of a dimension of unknown size. The dimension is assumed not to be empty."""
    if type(start) is not int or start != -1 or end not in (None, sys.maxsize) or step != 1:
        return False
    with torch._C.DisableTorchFunction():
        size = tensor.shape[dim]
    return isinstance(size, torch.SymInt) and staging.sizes.assume(size.node.expr >= 1) is True


def _has_unrelated_bounds(tensor, dim=0, start=None, end=None, step=1):
    """Returns whether a bound of `x[start:end]` is a symbol that does not occur in the size of the dimension. Nothing is known
    about the size of the result, but torch would try to decide several conditions on it first."""
    with torch._C.DisableTorchFunction():
        size = tensor.shape[dim]
    bounds = [bound.node.expr for bound in (start, end) if isinstance(bound, torch.SymInt)]
    known = size.node.expr.free_symbols if isinstance(size, torch.SymInt) else ()
    return any(bound.is_Symbol and bound not in known for bound in bounds)


def _sliced(staging, tensor, dim=0, start=None, end=None, step=1):
    """Returns the result of `x[start:end]`, with a new symbol for its size."""
    with staging.quiet():
        sizes, strides = list(tensor.shape), list(tensor.stride())
        sizes[dim] = staging.sizes.shape_env.new()
        strides[dim] *= step
        return staging.fake_mode.empty(sizes, strides, tensor.dtype, tensor.fake_device)


def _needs_numbers(error):
    return isinstance(error, _size_errors()) or "SymIntArrayRef" in str(error)


def _size_errors():
    """Returns the class of torch's error about a condition on an unknown size, in a tuple. The tuple is empty if torch's
    module is not imported yet, because there are no unknown sizes then."""
    module = sys.modules.get("torch.fx.experimental.symbolic_shapes")
    return () if module is None else (module.GuardOnDataDependentSymNode,)


def _shape_errors():
    """Returns the classes of the errors that torch's shape functions raise for code that is correct in eager torch."""
    of_fakes = DataDependentOutputException, DynamicOutputShapeException, UnsupportedOperatorException
    return (*_size_errors(), *of_fakes)


def _example(staging, func, number, type):
    """Returns a number in place of a staged number, to compute the result's shape. If the shape depends on the number, returns
    a symbolic size, otherwise an arbitrary example."""
    value = scalars.lower(staging, number)
    if not hasattr(value, "type"):
        return value
    if value.type == INT and ("int" in type.lower() or func in shapes.SIZED_BY_NUMBERS) and func not in _INDEXED:
        return staging.sizes.number(value)
    if func in _INDEXED:
        return 0
    return _EXAMPLES[value.type]


_EXAMPLES = {INT: 2, FLOAT: 0.5, BOOL: True}

#: Operators whose result has the same shape for every index.
_INDEXED = {aten.select.int, aten.select_scatter.default, aten.roll.default}


#: Name of an overload that takes a number -> the overload that takes a tensor in its place.
_OF_TENSORS = {"Scalar": "Tensor", "Tensor_Scalar": "Tensor_Tensor"}


def _with_complex_tensors(staging, func, args, result):
    """Returns the operator and its arguments with a tensor in place of a complex number, which a graph cannot hold."""
    if func._overloadname in _OF_TENSORS:
        func = getattr(func.overloadpacket, _OF_TENSORS[func._overloadname], func)
    is_complex = isinstance(result, torch.Tensor) and result.dtype.is_complex
    dtype = result.dtype.to_real() if is_complex else torch.float64
    kinds = [kind for _, kind, _ in schemas.arguments(func)]
    pairs = zip(args, kinds)
    return func, [_complex(staging, a, dtype) if type(a) is complex and kind == "Tensor" else a for a, kind in pairs]


def _complex(staging, number, dtype):
    """Returns a 0-d tensor of a complex number, made in the graph from parts with this dtype."""
    part = TensorType(dtype, (), torch.device("cpu"))
    args = [dtype, None, None, None]
    parts = [staging.emit(_SCALAR_TENSOR, [n, *args], [part])[0] for n in (number.real, number.imag)]
    return staging.fresh(staging.emit(_COMPLEX, parts, [TensorType(dtype.to_complex(), (), part.device)])[0])


def emit(staging, func, args, result):
    """Records the operation. Its results become tensors of the trace."""
    if complex in map(type, args):
        func, args = _with_complex_tensors(staging, func, args, result)
    if any(isinstance(arg, torch.Generator) for arg in args):
        return torch_generators.draw(staging, func, args, result)
    op, operands = views.operation(func), [staging.operand(a) for a in args]
    if isinstance(result, torch.Tensor):
        result = _distinct(staging, result)
        value = staging.emit(op, operands, [views.result_type(result)])[0]
        staging.sizes.adopt(result, value)
        return staging.adopt(result, value)
    if result is None:
        staging.emit(op, operands, [])
        return None
    if schemas.returns_list(func):
        if not result:
            return []
        value = staging.emit(op, operands, [ListType(_element_type(result))])[0]
        parts = []
        for index, fake in enumerate(result):
            got = staging.emit(LIST_GET, [value, index], [views.result_type(fake)])[0]
            parts.append(staging.adopt(_distinct(staging, fake), got))
        return parts
    if not isinstance(result, (tuple, list)):
        message = f"the result of {func} is a Python value that depends on the data of a tensor"
        error = StagingError(message, spans.current())
        is_sparse = any(isinstance(arg, torch.Tensor) and arg.layout is not torch.strided for arg in args)
        raise RunInPython(error, lasts=True) if is_sparse else error
    fakes = [_distinct(staging, r) if isinstance(r, torch.Tensor) else r for r in result]
    types = [views.result_type(r) if isinstance(r, torch.Tensor) else (scalars.kind_of(r) or NONE) for r in fakes]
    values = staging.emit(op, operands, types)
    results = []
    for fake, value in zip(fakes, values):
        if isinstance(fake, torch.Tensor):
            staging.sizes.adopt(fake, value)
            results.append(staging.adopt(fake, value))
        elif fake is None:
            results.append(None)
        else:
            results.append(staging.scalar(value))
    return tuple(results)


def _element_type(tensors):
    """Returns the type of the elements of a list of tensors. Sizes that differ between elements are unknown; a run reads such
    a size from the element, for example for the zeros of a gradient. If the numbers of dimensions differ, all sizes are
    unknown."""
    types = [views.result_type(tensor) for tensor in tensors]
    counts = {len(type.dims) for type in types}
    if len(counts) > 1:
        return TensorType(types[0].dtype, (None,) * max(counts), types[0].device)
    dims = tuple(sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*(type.dims for type in types)))
    return TensorType(types[0].dtype, dims, types[0].device)


def _distinct(staging, fake):
    """Returns the tensor, or a copy if torch returned one of its operands."""
    if not isinstance(fake, FakeTensor):
        with staging.quiet():
            fake = staging.fake_mode.from_tensor(fake)
    if "_ag_view" in fake.__dict__:
        with staging.quiet():
            fake = fake.clone()
    return fake


def _view(staging, func, args, result):
    """Records an operator that returns views of its first argument."""
    source = staging.view_of(args[0])
    if isinstance(result, torch.Tensor):
        if result is args[0]:
            return result
        if func is _DETACH and _is_new(staging, source):
            attach(result, View(source.base, source.chain, source.value))
            return result
        if func is _DETACH and not staging.keeps_detach:
            func = _ALIAS
        rest = [staging.operand(a) for a in args[1:]]
        return _step(staging, source, func, rest, args[0], result)
    return [
        _step(staging, source, op, list(map(staging.operand, rest)), args[0], part)
        for (op, rest), part in zip(views.parts(func, args, result), result)
    ]


def _is_new(staging, view):
    """Returns whether a tensor was just created by a factory such as `torch.zeros` or `torch.zeros_like`. Torch itself
    detaches such a tensor."""
    if staging.called in _DETACHING:
        return False
    nodes = staging.record.region.nodes
    if not nodes or nodes[-1].outputs != [view.base.value]:
        return False
    return not any(map(_holds_value, nodes[-1].args)) or schemas.is_like(operator_of(nodes[-1].op))


_DETACHING = {torch.detach, torch.detach_, torch.Tensor.detach, torch.Tensor.detach_, torch.Tensor.data.__get__}


def _holds_value(operand):
    return any(map(_holds_value, operand)) if isinstance(operand, list) else hasattr(operand, "region")


def _step(staging, source, op, rest, operand, fake):
    value = staging.aliases.read(source)
    step = Step(op, rest, views.result_type(operand), tuple(operand.shape))
    type = views.result_type(fake)
    result = views.emit(staging, step, value, type)
    staging.sizes.adopt(fake, result)
    fake.__dict__["_ag_view"] = View(source.base, (*source.chain, step), result)
    return fake


# Special operators.


def _arange(staging, func, args, kwargs):
    """`torch.arange`. If an argument is a staged floating-point number, the size of the result is unknown."""
    args = schemas.in_order(func, args, kwargs)
    if not any(scalars.is_staged(a) and scalars.kind_of(a) == FLOAT for a in args):
        return emit(staging, func, args, compute(staging, func, args))
    dtype, device = (args[[name for name, *_ in schemas.arguments(func)].index(n)] for n in ("dtype", "device"))
    with staging.quiet():
        result = torch.empty(staging.sizes.shape_env.create_unbacked_symint(), dtype=dtype, device=device)
    return emit(staging, func, args, result)


def _item(staging, func, args, kwargs):
    return staging.item(args[0])


def _lift_fresh(staging, func, args, kwargs):
    """Called for a new tensor of Python numbers, as in `torch.tensor([1, 2])`. Each run of the graph creates a new tensor."""
    tensor = args[0]
    if isinstance(tensor, FakeTensor) and "_ag_view" in tensor.__dict__:
        return tensor
    if isinstance(tensor, FakeTensor):
        tensor = _with_data(tensor)
    if staging.objects.share_memory(tensor):
        return staging.fake_of(tensor)
    if tensor.numel() == 1 and not tensor.dtype.is_complex:
        with _without_modes():
            number = tensor.item()
        type = views.result_type(tensor)
        arguments = [list(tensor.shape), number, tensor.dtype, None, None, None]
        value = staging.emit(_FULL, arguments, [type])[0]
        return staging.adopt(staging.new_fake(tensor.size(), tensor.stride(), tensor.dtype, tensor.device), value)
    staging.constants.append(tensor)
    view = staging.view_of(tensor)
    fake = staging.new_fake(tensor.size(), tensor.stride(), tensor.dtype, tensor.device)
    return staging.adopt(fake, staging.aliases.read(view))


def _constant_pad(staging, func, args, kwargs):
    """Computes the sizes here, because torch's kernel needs numbers for all sizes."""
    args = schemas.in_order(func, args, kwargs)
    tensor, pad = staging.fake_of(args[0]), _with_sizes(staging, func, args, {})[0][1]
    if all(type(n) is int for n in (*tensor.shape, *pad)):
        return emit(staging, func, args, compute(staging, func, args))
    size = list(tensor.shape)
    for dim in range(len(pad) // 2):
        size[-1 - dim] += pad[2 * dim] + pad[2 * dim + 1]
    return emit(staging, func, args, staging.new_fake(size, None, tensor.dtype, tensor.device))


def _grouped_mm(staging, func, args, kwargs):
    """Computes the shape with matrices of bfloat16: torch's shape function accepts no other dtypes, but its kernels do."""
    args = schemas.in_order(func, args, kwargs)
    fakes = [staging.fake_of(a) if isinstance(a, torch.Tensor) else a for a in args]
    dtype = args[-1] or args[0].dtype
    with staging.quiet():
        matrices = [fake.to(torch.bfloat16) for fake in fakes[:2]]
        result = func(*matrices, *fakes[2:-1]).to(dtype)
    return emit(staging, func, fakes, result)


def _ctc_loss(staging, func, args, kwargs):
    """Computes the shapes here: torch has no shape function, because a size of the second result depends on the length of
    the longest target."""
    fakes = [staging.fake_of(a) if isinstance(a, torch.Tensor) else a for a in schemas.in_order(func, args, kwargs)]
    time, batch, _ = fakes[0].shape
    with staging.quiet():
        size = batch, time, staging.sizes.shape_env.create_unbacked_symint()
        results = fakes[0].new_empty(batch), fakes[0].new_empty(size)
    return emit(staging, func, fakes, results)


def _ctc_loss_backward(staging, func, args, kwargs):
    fakes = [staging.fake_of(a) if isinstance(a, torch.Tensor) else a for a in schemas.in_order(func, args, kwargs)]
    with staging.quiet():
        result = torch.empty_like(fakes[1])
    return emit(staging, func, fakes, result)


def _with_data(fake):
    """Returns the tensor with the data of a fake tensor that torch created for a constant."""
    constant = fake.constant
    if constant is None:
        raise StagingError("this uses a fake tensor that does not belong to this trace", spans.current())
    return constant


def _without_modes():
    return _disable_current_modes()


def _same(staging, func, args, kwargs):
    return args[0]


def _batch_norm(staging, func, args, kwargs):
    """`torch.native_batch_norm`, which also writes the statistics of a batch to the buffers of the module."""
    x, weight, bias, mean, variance, training, momentum, eps = schemas.in_order(func, args, kwargs)
    if not training or mean is None:
        op = _BATCH_NORM if not training else _BATCH_NORM_WITHOUT_STATISTICS
        rest = (mean, variance, momentum, eps) if not training else (training, momentum, eps)
        return op(x, weight, bias, *rest)
    results = _BATCH_NORM_WITH_STATISTICS(x, weight, bias, mean, variance, training, momentum, eps)
    for buffer, new in ((mean, results[3]), (variance, results[4])):
        with torch.no_grad():
            inplace.assign(staging, buffer, staging.value_of(new))
    return results[:3]


def _number_as_tensor(staging, func, args, kwargs):
    """Called where torch passes a Python number in place of a tensor: inside `vmap`, it converts the 2 in `x.sum() * 2`
    to the dtype of the result. Returns a tensor with the number."""
    if isinstance(args[0], torch.Tensor):
        return NotImplemented
    dtype = kwargs.get("dtype") or {BOOL: torch.bool, INT: torch.int64}.get(scalars.kind_of(args[0]))
    return torch.scalar_tensor(args[0], dtype=dtype, device=kwargs.get("device"))


def _cosine_similarity(staging, func, args, kwargs):
    """Torch clamps the norms under `no_grad`, in place. In a graph that would stop their gradient, so they are computed
    here."""
    x, y, dim, eps = schemas.in_order(func, args, kwargs)
    x, y = torch.broadcast_tensors(x, y)
    norms = [torch.linalg.vector_norm(v, 2, dim, keepdim=True).clamp_min(eps) for v in (x, y)]
    return ((x / norms[0]) * (y / norms[1])).sum(dim)


def _onednn_layer(staging, func, args, kwargs):
    """Records a layer of an LSTM. Torch saves the values that the derivative needs only if a tensor requires a gradient. Here
    they are saved whenever gradients are enabled."""
    *operands, train = schemas.in_order(func, args, kwargs)
    fakes = [staging.fake_of(a) if isinstance(a, torch.Tensor) else a for a in operands]
    fakes.append(train or torch.is_grad_enabled())
    return emit(staging, func, fakes, compute(staging, func, fakes))


def _under_mode(function):
    """Returns a special operator whose implementation calls other operators. These are recorded."""

    def special(staging, func, args, kwargs):
        with Recorder(staging):
            return function(staging, func, args, kwargs)

    return special


_SPECIAL = {
    aten._local_scalar_dense.default: _item,
    aten.lift_fresh.default: _lift_fresh,
    aten.lift.default: _lift_fresh,
    aten.detach_.default: _same,
    aten.mkldnn_rnn_layer.default: _onednn_layer,
    aten.constant_pad_nd.default: _constant_pad,
    aten._grouped_mm.default: _grouped_mm,
    **dict.fromkeys((aten._ctc_loss.default, aten._ctc_loss.Tensor), _ctc_loss),
    **dict.fromkeys((aten._ctc_loss_backward.default, aten._ctc_loss_backward.Tensor), _ctc_loss_backward),
    **dict.fromkeys((aten.arange.default, aten.arange.start, aten.arange.start_step), _arange),
    aten.cosine_similarity.default: _under_mode(_cosine_similarity),
    aten.native_batch_norm.default: _under_mode(_batch_norm),
    aten._to_copy.default: _under_mode(_number_as_tensor),
    **{func: _under_mode(function) for func, function in {**composites.SPECIAL, **recurrent.SPECIAL, **collectives.SPECIAL}.items()},
}
