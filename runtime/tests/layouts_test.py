"""Non-contiguous tensors: torch's code tests for them, and some kernels do not support them."""

import torch
import torch.nn.functional as F

import autograph as ag
from oracle import assert_same


def test_a_non_contiguous_argument():
    """`contiguous` copies a non-contiguous tensor, but returns a contiguous tensor itself."""

    def f(x):
        x = x + 0
        y = x.contiguous()
        y += 1
        return x, y, F.group_norm(x[None], 1)

    def g(direction, magnitude):
        return torch._weight_norm(direction, magnitude, 0)

    rows = torch.arange(12.0).reshape(3, 4)
    columns = torch.arange(12.0).reshape(4, 3).T
    assert_same(f, (rows,), (columns,), (torch.arange(24.0).reshape(3, 8)[:, ::2],))
    assert_same(g, (rows, torch.ones(3, 1)), (columns, torch.ones(3, 1)))


def test_dynamic_size_of_non_contiguous_tensors():
    """A trace with a dynamic size accepts only tensors whose strides have the same order."""

    @ag.function
    def f(x):
        return F.group_norm(x, 2).contiguous().view(-1)

    for count in (2, 3, 5):
        for x in (torch.randn(count, 4, 3), torch.randn(count, 3, 4).transpose(1, 2), torch.randn(4, count, 6)[..., ::2]):
            x = x if x.shape[1] == 4 else x.transpose(0, 1)
            torch.testing.assert_close(f(x), F.group_norm(x, 2).reshape(-1))


def test_a_non_contiguous_loop_variable():
    def f(x, n):
        for _ in range(n):
            x = F.group_norm(x, 2)
            x = (x.permute(0, 1, 3, 2).contiguous() * 2).permute(0, 1, 3, 2)
        return x

    assert_same(f, (torch.randn(2, 4, 3, 5), torch.tensor(3)))


def test_a_non_contiguous_gradient():
    """The derivative of `y * weights` has the strides of the weights."""
    weights = torch.randn(5, 3, 4, 2).permute(3, 2, 1, 0)
    x = torch.randn(2, 4, 3, 5, requires_grad=True)
    layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(5, 5))

    def f(x):
        return (F.group_norm(layer(x), 2) * weights).sum()

    wanted = [x, *layer.parameters()]
    expected = torch.autograd.grad(f(x), wanted)
    torch.testing.assert_close(torch.autograd.grad(ag.function(f)(x), wanted), expected)
