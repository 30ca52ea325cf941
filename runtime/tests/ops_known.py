"""Operators of torch's table that are not compared, and those that staged code cannot do yet."""

#: Nothing to compare, or nothing that could be staged.
EXCLUDED = {
    **dict.fromkeys(
        ("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided", "resize_", "resize_as_"),
        "what is in the memory is left to chance",
    ),
    **dict.fromkeys(
        ("sparse.sampled_addmm", "sparse.mm.reduce", "to_sparse"), "sparse tensors: a graph has dense ones only"
    ),
    **dict.fromkeys(
        ("jiterator_unary", "jiterator_binary", "jiterator_4inputs_with_extra_args", "jiterator_binary_return_by_ref", "jiterator_2inputs_2outputs"),
        "compiled for CUDA while it runs",
    ),
}

#: Fails, and why. With an element type: for that one only.
KNOWN = {
}
