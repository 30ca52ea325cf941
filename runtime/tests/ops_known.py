"""Operators in torch's table that are not compared, and those that staged code does not support yet."""


def _each(names, reason):
    return dict.fromkeys(names.split(), reason)


#: Operators without comparable results, or without anything to stage.
EXCLUDED = {
    **_each(
        "empty empty_like empty_permuted empty_strided new_empty new_empty_strided resize_ resize_as_",
        "the contents of the memory are undefined",
    ),
    **_each("sparse.sampled_addmm sparse.mm.reduce to_sparse", "a graph has no sparse tensors"),
    **_each(
        "jiterator_unary jiterator_binary jiterator_4inputs_with_extra_args jiterator_binary_return_by_ref "
        "jiterator_2inputs_2outputs",
        "compiled for CUDA at run time",
    ),
}


def _of(dtype, names, reason):
    return {f"{name} {dtype}": reason for name in names.split()}


#: Operators that fail, with the reason. An entry with an element type applies only to that type.
KNOWN = {
    **_of(
        "complex64",
        "_unsafe_masked_index addbmm addmm full full_like index_fill new_full",
        "a graph has no complex literals",
    ),
    **_of("complex64", "item", "a graph has no complex scalars"),
    **_of(
        "complex64",
        "linalg.cond linalg.svd linalg.svdvals norm.nuc pca_lowrank svd svd_lowrank",
        "the derivative of a complex `svd` reads data to validate it",
    ),
    **_of("complex64", "tensor_split", "torch's derivative of `slice` needs bounds that are known"),
    **_of(
        "complex64",
        "nn.functional.pad.circular zero_",
        "torch has no complex derivative of the operator that represents an in-place write",
    ),
    **_each("cov", "reads the data of its weights"),
    **_each("linalg.lstsq linalg.lstsq.grad_oriented", "the shape of a result depends on data"),
}

#: Operators with other results on non-contiguous tensors, with the reason.
KNOWN_NON_CONTIGUOUS = {
    **_each(
        "as_strided as_strided.partial_views as_strided_copy",
        "their derivative depends on the memory layout of the traced tensor",
    ),
    "nn.functional.alpha_dropout": "eager torch draws random numbers in memory order",
    "view_copy": "torch's shape function rejects it, but its kernel does not",
}
