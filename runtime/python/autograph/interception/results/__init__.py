"""Rules for the results of common operators: their dtypes and sizes, for tensors of known sizes on one device.

Without a rule, torch computes the results with Python functions, which take a third of a millisecond each and need
sympy, whose import takes half a second. The results of a rule are contiguous. A rule returns None for operands that it
does not cover; then torch computes the results or raises the error. Arguments are in the order of the schema, with all
defaults.
"""

import torch

from . import creation, elementwise, networks, reductions, structure
from .operands import any_layout, is_no_image, is_row_major, overloads

RULES = {**elementwise.RULES, **reductions.RULES, **structure.RULES, **networks.RULES, **creation.RULES}

#: Operator -> a test of the layout of each operand. For an operator in this table, a rule applies only if all operands
#: pass the test; for all other operators, only if all operands are contiguous.
_LAYOUTS = {
    **{func: is_row_major for func, rule in elementwise.RULES.items() if elementwise.is_pointwise(rule)},
    **overloads("mm bmm mv dot addmm addmv baddbmm sum mean max min any all embedding index_select gather", any_layout),
    **overloads("multilabel_margin_loss_forward", any_layout),
    **overloads("cat", is_no_image), **overloads("isnan scatter.src scatter.value scatter_add", is_row_major),
    **overloads("zeros_like ones_like empty_like rand_like randn_like full_like clone _to_copy", is_row_major),
}


def results(func, args, tensors):
    """Returns the results [(dtype, size)] of an operator; None if there is no rule for it or for these operands. `tensors` are
    all tensors among the arguments."""
    rule = RULES.get(func)
    if rule is None or not all(map(_LAYOUTS.get(func, torch.Tensor.is_contiguous), tensors)):
        return None
    return rule(*args)
