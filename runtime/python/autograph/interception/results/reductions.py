"""Products of matrices, reductions, sorting and losses."""

import torch

from .operands import FLOATS, MAX_DIMENSIONS, NUMBERS, have_one_float_dtype, broadcast, index_of, is_tensor, overloads, result


def _mm(x, y):
    if not have_one_float_dtype(x, y) or x.dim() != 2 or y.dim() != 2 or x.shape[1] != y.shape[0]:
        return None
    return [(x.dtype, [x.shape[0], y.shape[1]])]


def _bmm(x, y):
    if not have_one_float_dtype(x, y) or x.dim() != 3 or y.dim() != 3 or x.shape[0] != y.shape[0] or x.shape[2] != y.shape[1]:
        return None
    return [(x.dtype, [x.shape[0], x.shape[1], y.shape[2]])]


def _mv(x, y):
    fits = have_one_float_dtype(x, y) and x.dim() == 2 and y.dim() == 1 and x.shape[1] == y.shape[0]
    return [(x.dtype, [x.shape[0]])] if fits else None


def _dot(x, y):
    return [(x.dtype, [])] if have_one_float_dtype(x, y) and x.dim() == y.dim() == 1 and x.shape == y.shape else None


def _added(product):
    """Returns a rule for operators such as `torch.addmm(bias, x, y)`, which add a bias to a product."""

    def rule(bias, x, y, *_):
        found = product(x, y)
        if found is None or bias.dtype != x.dtype or broadcast(bias.shape, found[0][1]) != found[0][1]:
            return None
        return found

    return rule


def _distances(x, y, order, mode):
    if not have_one_float_dtype(x, y) or min(x.dim(), y.dim()) < 2 or x.shape[-1] != y.shape[-1]:
        return None
    if x.shape[:-2] != y.shape[:-2] or order < 0:
        return None
    return [(x.dtype, [*x.shape[:-1], y.shape[-2]])]


def _reduced(x, dims, keeps):
    """Returns the sizes of `x` without the dimensions `dims`, or without all dimensions if `dims` is None or empty. If
    `keeps`, these sizes are 1 instead."""
    dims = [dims] if type(dims) is int else dims
    dims = [index_of(x, d) for d in dims] if dims else list(range(x.dim()))
    if None in dims or len(set(dims)) != len(dims) or x.dim() > MAX_DIMENSIONS:
        return None
    if keeps:
        return [1 if d in dims else n for d, n in enumerate(x.shape)]
    return [n for d, n in enumerate(x.shape) if d not in dims]


def _sum(x, dims=None, keeps=False, dtype=None):
    if x.dtype not in (*NUMBERS, torch.bool):
        return None
    return result(dtype or (x.dtype if x.dtype in FLOATS else torch.int64), _reduced(x, dims, keeps))


def _mean(x, dims=None, keeps=False, dtype=None):
    return result(x.dtype, _reduced(x, dims, keeps)) if x.dtype in FLOATS and dtype is None else None


def _variance(x, dims, correction, keeps):
    return result(x.dtype, _reduced(x, dims, keeps)) if x.dtype in FLOATS else None


def _mean_and_variance(x, dims, correction, keeps):
    found = _variance(x, dims, correction, keeps)
    return None if found is None else found * 2


def _log_sum(x, dims, keeps):
    return _mean(x, dims, keeps) if x.numel() else None


def _product(x, dim, keeps, dtype):
    return _sum(x, [dim], keeps, dtype)


def _norm(x, order, dims, keeps, dtype):
    if x.dtype not in FLOATS or dtype is not None or not x.numel():
        return None
    return result(x.dtype, _reduced(x, dims, keeps))


def _extremum(x, dims=(), keeps=False):
    return result(x.dtype, _reduced(x, dims, keeps)) if x.dtype in NUMBERS and x.numel() else None


def _sum_of_total(x, dtype=None):
    return _sum(x, None, False, dtype)


def _mean_of_total(x, dtype=None):
    return _mean(x, None, False, dtype)


def _extremum_of_total(x):
    return _extremum(x)


def _extremum_along(x, dim, keeps):
    found = _extremum(x, [dim], keeps) if x.dim() else None
    return None if found is None else [*found, (torch.int64, found[0][1])]


def _position(x, dim, keeps):
    if x.dtype not in NUMBERS or not x.numel() or dim is not None and not x.dim():
        return None
    return result(torch.int64, _reduced(x, None if dim is None else [dim], keeps))


def _truth(x, dims=None, keeps=False):
    return result(torch.bool, _reduced(x, dims, keeps)) if x.dtype is not torch.uint8 else None


def _cumulative(x, dim, dtype):
    is_known = x.dtype in NUMBERS and dtype is None and index_of(x, dim) is not None
    return [(x.dtype if x.dtype in FLOATS else torch.int64, x.shape)] if is_known else None


def _softmax(x, dim, to_float):
    return [(x.dtype, x.shape)] if x.dtype in FLOATS and not to_float and index_of(x, dim) is not None else None


def _sorted(x, dim=-1, *_):
    return [(x.dtype, x.shape), (torch.int64, x.shape)] if x.dtype in NUMBERS and index_of(x, dim) is not None else None


def _sorted_stably(x, stable, dim, descending):
    return _sorted(x, dim)


def _topk(x, k, dim, *_):
    dim = index_of(x, dim)
    if x.dtype not in NUMBERS or dim is None or not 0 <= k <= x.shape[dim]:
        return None
    size = [k if d == dim else n for d, n in enumerate(x.shape)]
    return [(x.dtype, size), (torch.int64, size)]


def _loss(x, y, *rest):
    """Implements a rule for operators such as `torch.nn.functional.mse_loss(x, y)`. The reduction is the first integer of
    `rest`."""
    reduction = next((argument for argument in rest if type(argument) is int), None)
    if not have_one_float_dtype(x, y, *filter(is_tensor, rest)) or x.shape != y.shape or reduction not in (0, 1, 2):
        return None
    return [(x.dtype, [] if reduction else x.shape)]


def _likelihood(x, target, weight, reduction, ignored):
    if x.dtype not in FLOATS or target.dtype is not torch.int64 or x.dim() not in (1, 2) or target.shape != x.shape[:-1]:
        return None
    if reduction not in (1, 2) or weight is not None and (weight.dtype, weight.shape) != (x.dtype, x.shape[-1:]):
        return None
    return [(x.dtype, []), (x.dtype, [])]


def _multilabel_margin(x, target, reduction):
    """Implements the rule for a single vector. The kernel returns one number, but torch's shape function `[1]`."""
    if x.dtype not in FLOATS or target.dtype is not torch.int64 or x.dim() > 1 or target.shape != x.shape or not x.numel():
        return None
    return [(x.dtype, []), (x.dtype, x.shape)] if reduction in (0, 1, 2) else None


RULES = {
    **overloads("_cdist_forward", _distances), **overloads("cumprod", _cumulative),
    **overloads("logsumexp", _log_sum), **overloads("prod.dim_int", _product),
    **overloads("var_mean.correction", _mean_and_variance), **overloads("smooth_l1_loss", _loss),
    **overloads("mm", _mm), **overloads("bmm", _bmm), **overloads("mv", _mv), **overloads("dot", _dot),
    **overloads("addmm", _added(_mm)), **overloads("baddbmm", _added(_bmm)), **overloads("addmv", _added(_mv)),
    **overloads("sum", _sum_of_total), **overloads("sum.dim_IntList", _sum), **overloads("mean", _mean_of_total),
    **overloads("mean.dim", _mean), **overloads("var.correction std.correction", _variance),
    **overloads("linalg_vector_norm", _norm), **overloads("amax amin", _extremum),
    **overloads("max min", _extremum_of_total), **overloads("max.dim min.dim", _extremum_along),
    **overloads("argmax argmin", _position), **overloads("any all any.dim all.dim", _truth),
    **overloads("cumsum", _cumulative), **overloads("_softmax _log_softmax", _softmax),
    **overloads("sort", _sorted), **overloads("sort.stable", _sorted_stably), **overloads("topk", _topk),
    **overloads("mse_loss binary_cross_entropy", _loss), **overloads("binary_cross_entropy_with_logits", _loss),
    **overloads("nll_loss_forward", _likelihood), **overloads("multilabel_margin_loss_forward", _multilabel_margin),
}  # fmt: skip
