"""Sample calls of every operator in torch's own table. Each is a function of tensors only."""

import itertools
import warnings

import torch
from torch.utils import _pytree as pytree

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal import common_methods_invocations as table

#: The table sets the random seed inside each call; here the caller sets it.
table.wrapper_set_seed = lambda operator, *args, **kwargs: operator(*args, **kwargs)

#: The number of samples of each operator, by element type.
COUNTS = {torch.float32: 2, torch.float64: 1, torch.int64: 1, torch.bool: 1, torch.complex64: 1}

#: The samples in use are chosen from this number of samples of the table, at equal distances.
FIRST = 5


def name_of(info):
    return info.name + ("." + info.variant_test_name if info.variant_test_name else "")


def operators():
    return table.op_db


class Sample:
    """One call of an operator: a function of the tensors among its arguments."""

    def __init__(self, info, dtype, sample):
        leaves, structure = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
        places = [index for index, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
        operator = info.op

        def call(*tensors):
            given = list(leaves)
            for place, tensor in zip(places, tensors):
                given[place] = tensor
            first, args, kwargs = pytree.tree_unflatten(given, structure)
            return operator(first, *args, **kwargs)

        self.call = call
        self.dtype = dtype
        self.prepared = sample.output_process_fn_grad
        self.tensors = [leaves[place] for place in places]

    def fresh(self, requires_grad=False):
        """Copies the tensors, because a call may change them in place."""
        return [t.detach().clone().requires_grad_(requires_grad and t.requires_grad) for t in self.tensors]


def samples(info, counts=COUNTS):
    """Yields a few calls of an operator for each element type."""
    for dtype, count in counts.items():
        if dtype not in info.supported_dtypes("cpu"):
            continue
        torch.manual_seed(0)
        requires_grad = info.supports_autograd and dtype in info.supported_backward_dtypes("cpu")
        found = list(itertools.islice(info.sample_inputs("cpu", dtype, requires_grad=requires_grad), FIRST))
        for index in range(min(count, len(found))):
            yield Sample(info, dtype, found[index * len(found) // count if len(found) > count else index])
