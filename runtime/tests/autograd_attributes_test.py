"""What autograd knows about a tensor: `is_leaf`, `grad_fn`, and whether it is a parameter."""

import pytest
import torch

import autograph as ag

TENSORS = {
    "plain": lambda: torch.ones(2),
    "leaf": lambda: torch.ones(2, requires_grad=True),
    "computed": lambda: torch.ones(2, requires_grad=True) * 1,
    "parameter": lambda: torch.nn.Parameter(torch.ones(2)),
    "frozen parameter": lambda: torch.nn.Parameter(torch.ones(2), requires_grad=False),
}


def made(x):
    y, z = x * 2, torch.zeros(2)
    return [t.is_leaf for t in (x, x[0], x.detach(), y, y.detach(), z, z + x)]


def is_parameter(x):
    return x * 2 if isinstance(x, torch.nn.Parameter) else x * 3


def without_history(x):
    return x * 2 if x.grad_fn is None else x * 3


@pytest.mark.parametrize("function", [made, is_parameter], ids=lambda function: function.__name__)
def test_same_as_eager(function):
    """All kinds of tensors, one after the other, are arguments of one staged function."""
    staged = ag.function(function)
    for make in [*TENSORS.values(), *TENSORS.values()]:
        x = make()
        torch.testing.assert_close(staged(x), function(x))


@pytest.mark.parametrize("name", [name for name in TENSORS if name != "computed"])
def test_a_leaf_has_no_grad_fn(name):
    x = TENSORS[name]()
    torch.testing.assert_close(ag.function(without_history)(x), without_history(x))


def test_grad_fn_is_refused():
    with pytest.raises(ag.StagingError, match="help: read `requires_grad` or `is_leaf`"):
        ag.function(without_history)(TENSORS["computed"]())


WEIGHT = torch.ones(2)


def test_a_parameter_in_place_of_a_tensor_from_outside():
    global WEIGHT

    def kind():
        return isinstance(WEIGHT, torch.nn.Parameter)

    staged = ag.function(kind)
    for make in TENSORS.values():
        WEIGHT = make()
        assert staged() == kind()
