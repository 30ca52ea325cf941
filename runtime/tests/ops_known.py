"""Operators in torch's table that are not compared, and those that staged code does not support yet."""


def _each(names, reason):
    return dict.fromkeys(names.split(), reason)


#: Operators without comparable results, or without anything to stage.
EXCLUDED = {
    **_each(
        "empty empty_like empty_permuted empty_strided new_empty new_empty_strided resize_ resize_as_",
        "what is in the memory is left to chance",
    ),
    **_each("sparse.sampled_addmm sparse.mm.reduce to_sparse", "a graph has no sparse tensors"),
    **_each(
        "jiterator_unary jiterator_binary jiterator_4inputs_with_extra_args jiterator_binary_return_by_ref "
        "jiterator_2inputs_2outputs",
        "compiled for CUDA while it runs",
    ),
}


def _of(dtype, names, reason):
    return {f"{name} {dtype}": reason for name in names.split()}


#: Operators that fail, with the reason. An entry with an element type holds for that type only.
KNOWN = {
    **_of(
        "complex64",
        "_unsafe_masked_index addbmm addmm angle full full_like index_fill new_full nn.functional.conv1d "
        "nn.functional.conv2d nn.functional.conv3d nn.functional.conv_transpose1d nn.functional.conv_transpose2d "
        "nn.functional.conv_transpose3d",
        "a graph has no complex literals",
    ),
    **_each("polar", "its derivative has a complex literal"),
    **_of("complex64", "logdet linalg.slogdet", "its derivative has a complex literal"),
    **_of("complex64", "item", "a graph has no complex scalars"),
    **_of(
        "complex64",
        "linalg.cond linalg.svd linalg.svdvals norm.nuc pca_lowrank svd svd_lowrank",
        "the derivative of a complex `svd` reads data to validate it",
    ),
    **_of("complex64", "tensor_split", "torch's derivative of `slice` at places that the graph finds"),
    **_of(
        "complex64",
        "nn.functional.pad.circular zero_",
        "torch has no complex derivative for the operator that stands for a change in place",
    ),
    **_each("nn.functional.rrelu", "torch has a derivative of the form that changes its noise in place only"),
    **_each("cov corrcoef", "reads the data of its weights"),
    **_each("linalg.lstsq linalg.lstsq.grad_oriented", "the shape of a result depends on data"),
    **_each("nn.functional.one_hot", "the number of classes depends on data"),
}

#: Operators with other results on non-contiguous tensors, with the reason.
KNOWN_NON_CONTIGUOUS = {
    **_each(
        "as_strided as_strided.partial_views as_strided_copy",
        "their derivative is by the memory of the tensor that was traced",
    ),
    "nn.functional.alpha_dropout": "eager torch draws in the order of memory",
    "view_copy": "torch's own shapes refuse it, its kernel does not",
}
