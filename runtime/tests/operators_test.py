"""Torch's operators, staged and eager: torch's own samples of each, their values and their gradients."""

import os
import warnings

import pytest
import torch
from torch.utils import _pytree as pytree

import autograph as ag

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal.common_methods_invocations import op_db

#: Without values that a test can compare.
RANDOM = {
    "bernoulli", "empty", "empty_like", "empty_permuted", "empty_strided", "multinomial", "new_empty",
    "new_empty_strided", "nn.functional.alpha_dropout", "nn.functional.dropout", "nn.functional.dropout2d",
    "nn.functional.dropout3d", "nn.functional.feature_alpha_dropout", "nn.functional.fractional_max_pool2d",
    "nn.functional.fractional_max_pool3d", "nn.functional.multi_head_attention_forward", "nn.functional.rrelu",
    "nn.functional.scaled_dot_product_attention", "normal", "rand_like", "randint", "randint_like", "randn",
    "randn_like",
}  # fmt: skip

#: What is not staged, and why.
REFUSED = {
    "_batch_norm_with_update": "writes tensors its schema does not name",
    "_native_batch_norm_legit": "writes tensors its schema does not name",
    "corrcoef": "asks for a value inside of ATen",
    "cov": "asks for a value inside of ATen",
    "as_strided-partial_views": "gradient: memory that several elements share",
    "fft.hfft": "gradient: a conjugate without its own memory",
    "fft.hfftn": "gradient: a conjugate without its own memory",
    "hash_tensor": "numbers of 64 bits without sign",
    "linalg.eig": "gradient: not defined for this loss",
    "linalg.lstsq": "the shape of a result depends on values",
    "nanquantile": "asks for a value inside of ATen",
    "narrow": "a start that is a tensor",
    "nn.functional.ctc_loss": "the shape of a result depends on values",
    "nn.functional.embedding_bag": "gradient: torch's formula is for the host",
    "nn.functional.one_hot": "the shape of the result depends on values",
    "nn.functional.gaussian_nll_loss": "asks for a value in Python",
    "polar": "gradient: a complex number as an argument",
    "quantile": "asks for a value inside of ATen",
    "resize_": "changes the memory of a tensor",
    "split_with_sizes_copy": "gradient: an operator that returns a list",
    "tensor_split": "sections that are a tensor",
    "torch.ops.aten._safe_softmax.default": "known to torch's tests only",
    "unbind_copy": "gradient: an operator that returns a list",
}


def name_of(info):
    return f"{info.name}-{info.variant_test_name}" if info.variant_test_name else info.name


INFOS = {
    name_of(info): info
    for info in op_db
    if not {info.name, name_of(info)} & {*RANDOM, *REFUSED}
    and not any(word in info.name for word in ("sparse", "jiterator", "_scaled_mm", "chalf"))
}
#: How many of torch's samples of each operator are compared.
SAMPLES = int(os.environ.get("SAMPLES", "1"))


def samples(info, requires_grad):
    for dtype in (torch.float32, torch.int64, torch.bool):
        if dtype in info.dtypes and not (requires_grad and dtype != torch.float32):
            return list(info.sample_inputs("cpu", dtype, requires_grad=requires_grad))[: 2 * SAMPLES : 2]
    return []


@pytest.mark.parametrize("name", INFOS)
def test_values(name):
    info = INFOS[name]
    op = info.op
    for sample in samples(info, False):
        expected = op(sample.input, *sample.args, **sample.kwargs)

        def call(first, args, kwargs):
            return op(first, *args, **kwargs)

        found = ag.function(call)(sample.input, sample.args, sample.kwargs)
        torch.testing.assert_close(
            pytree.tree_leaves(found), pytree.tree_leaves(expected), equal_nan=True, check_stride=False
        )


@pytest.mark.parametrize("name", [name for name, info in INFOS.items() if info.supports_autograd])
def test_gradients(name):
    info = INFOS[name]
    op = info.op
    for sample in samples(info, True):

        def total(first, args, kwargs):
            results = pytree.tree_leaves(op(first, *args, **kwargs))
            results = [torch.view_as_real(r.resolve_conj()) if r.is_complex() else r for r in results]
            return sum((r * (r.detach() + 1)).sum() for r in results if r.is_floating_point())

        given = sample.input, sample.args, sample.kwargs
        inputs = [leaf for leaf in pytree.tree_leaves(given) if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
        output = total(*given)
        if not inputs or not isinstance(output, torch.Tensor) or not output.requires_grad:
            continue
        expected = torch.autograd.grad(output, inputs, allow_unused=True, materialize_grads=True)
        found = torch.autograd.grad(ag.function(total)(*given), inputs, allow_unused=True, materialize_grads=True)
        torch.testing.assert_close(found, expected, equal_nan=True, check_stride=False, rtol=2e-4, atol=1e-4)
