"""Operators whose implementation in torch reads data, stops gradients, or returns views that a graph does not have."""

import torch
from torch._decomp import decompositions

from ..capture import scalars
from ..conversion import spans
from ..errors import StagingError
from ..operators import asserts
from ..record.ops import ASSERT, MAX
from . import schemas

aten = torch.ops.aten

_SPLIT, _SPLIT_WITH_SIZES = aten.split.Tensor, aten.split_with_sizes.default
_EMBEDDING_BAG = aten._embedding_bag.default
_UPSAMPLES = aten.upsample_linear1d, aten.upsample_bilinear2d, aten.upsample_trilinear3d, aten.upsample_bicubic2d

#: The kernels that `upsample` calls.
UPSAMPLED = {packet.default for packet in _UPSAMPLES}


def cosine_similarity(staging, func, args, kwargs):
    """Torch clamps the norms under `no_grad`, in place. In the graph, the clamped norms must keep the gradient."""
    if not torch.is_grad_enabled():
        return func.decompose(*args, **kwargs)
    before, staging.keeps_detach = staging.keeps_detach, False
    try:
        return func.decompose(*args, **kwargs)
    finally:
        staging.keeps_detach = before


def quantile(staging, func, args, kwargs):
    """Torch reads `q` only to check its range. Here the graph checks the range."""
    before, staging.checks_values = staging.checks_values, "quantile() q values must be in the range [0, 1]"
    try:
        return func.decompose(*args, **kwargs)
    finally:
        staging.checks_values = before


def equal(staging, func, args, kwargs):
    """Called when C++ code of torch compares two tensors. If an operator checks its arguments in this way, the graph asserts
    that the tensors are equal. Any other comparison is an error, because its result is known only when the graph runs."""
    if staging.checks_values is None:
        raise StagingError(
            "torch needs to know whether two tensors are equal, which is only known when the graph runs",
            spans.current(),
        )
    holds = staging.item(args[0] == args[1])
    staging.emit(ASSERT, [scalars.lower(staging, holds), staging.checks_values], [])
    return True


def cov(staging, func, args, kwargs):
    """Torch reads the number of degrees of freedom, to warn if it is not positive. Without weights, this number depends
    on the shape alone, and is computed here as torch computes it."""
    x, correction, fweights, aweights = schemas.in_order(func, args, kwargs)
    if fweights is not None or aweights is not None or x.dim() > 2 or not x.numel():
        return NotImplemented
    rows = x.reshape(1, -1) if x.dim() < 2 else x
    count = rows.shape[1]
    centered = rows - (rows.sum(1) / count).unsqueeze(1)
    factor = count - correction
    factor = scalars.apply(staging, MAX, factor, 0) if scalars.is_staged(factor) else max(factor, 0)
    return torch.true_divide(centered @ centered.t().conj(), factor).squeeze()


def unsafe_split(staging, func, args, kwargs):
    """Returns ordinary views, because no code writes to the results."""
    return _SPLIT(*args, **kwargs)


def unsafe_split_with_sizes(staging, func, args, kwargs):
    return _SPLIT_WITH_SIZES(*args, **kwargs)


def embedding_bag(staging, func, args, kwargs):
    """Below autograd, torch selects an operator without a derivative. This calls the operator with a derivative."""
    return _EMBEDDING_BAG(*args, **kwargs)


def ctc_loss(staging, func, args, kwargs):
    """Converts the lengths to tensors, because torch would convert them in C++ to tensors without data."""
    args = schemas.in_order(func, args, kwargs)
    lengths = [torch.tensor(lengths, dtype=torch.int64) for lengths in args[2:4]]
    return aten.ctc_loss.Tensor(*args[:2], *lengths, *args[4:])


def rrelu_with_noise(staging, func, args, kwargs):
    """Torch's derivative of the functional operator reads the slopes before they are drawn. Here they are constants."""
    x, noise, lower, upper, training, generator = schemas.in_order(func, args, kwargs)
    if training:
        with torch.no_grad():
            _, drawn = aten.rrelu_with_noise_functional(x, noise, lower, upper, True, generator)
            noise.copy_(drawn)
        result = x * drawn
    else:
        result = torch.nn.functional.leaky_relu(x, (lower + upper) / 2)
    return x.copy_(result) if func is aten.rrelu_with_noise_.default else result


def upsample(staging, func, args, kwargs):
    """Calls the kernel that eager torch calls. Torch's decomposition has dozens of operators; it is used for unknown sizes if
    a derivative may be needed, because the derivative of the kernel needs known sizes."""
    x, sizes, align_corners, factors = schemas.in_order(func, args, kwargs)
    if torch.is_grad_enabled() and not all(type(n) is int for n in (*x.shape, *(sizes or ()))):
        return NotImplemented
    sizes = decompositions.upsample_compute_output_size(x.size(), sizes, factors)
    return func.overloadpacket.default(x, sizes, align_corners, *(factors or [None] * len(sizes)))


def linalg_check(staging, func, args, kwargs):
    """Functions such as `torch.linalg.cholesky` check with this operator that a factorization exists. The operator has no
    results, so the graph would omit it. An assertion replaces it."""
    info, name = args[:2]
    message = f"{name}: the factorization does not exist or cannot be computed: the input is singular or not positive-definite"
    holds = staging.item((info == 0).all())
    kind = RuntimeError if "_factor" in name else torch.linalg.LinAlgError
    asserts.torch_check(kind, torch._check)(holds, lambda: message)


def unscale(staging, func, args, kwargs):
    """Divides gradients by the scale of a `GradScaler`, and notes whether one of them is not finite. Torch's operator returns
    a list beside a tensor, which a graph does not have."""
    gradients, found, inverse = args
    for gradient in gradients:
        found.copy_(torch.maximum(found, (~gradient.isfinite()).any().to(found.dtype)))
        gradient.mul_(inverse)


def update_scale(staging, func, args, kwargs):
    """Updates the scale of a `GradScaler`. Torch's operator changes two of its operands and returns one."""
    scale, tracker, found, growth, backoff, interval = args
    is_infinite, count, grown = found != 0, tracker + 1, scale * growth
    is_grown = count == interval
    larger = torch.where(is_grown & grown.isfinite(), grown, scale)
    scale.copy_(torch.where(is_infinite, scale * backoff, larger))
    tracker.copy_(torch.where(is_infinite | is_grown, torch.zeros_like(tracker), count))
    return scale


SPECIAL = {
    aten._linalg_check_errors.default: linalg_check,
    aten.rrelu_with_noise.default: rrelu_with_noise,
    aten.rrelu_with_noise_.default: rrelu_with_noise,
    aten.ctc_loss.IntList: ctc_loss,
    aten._embedding_bag_forward_only.default: embedding_bag,
    aten.cosine_similarity.default: cosine_similarity,
    aten.cov.default: cov,
    aten.quantile.default: quantile,
    aten.quantile.scalar: quantile,
    aten.nanquantile.default: quantile,
    aten.nanquantile.scalar: quantile,
    aten.equal.default: equal,
    aten._amp_foreach_non_finite_check_and_unscale_.default: unscale,
    aten._amp_update_scale_.default: update_scale,
    aten.unsafe_split.Tensor: unsafe_split,
    aten.unsafe_split_with_sizes.default: unsafe_split_with_sizes,
    **{packet.vec: upsample for packet in _UPSAMPLES},
}
