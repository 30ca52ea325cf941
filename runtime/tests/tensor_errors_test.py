"""Operators that raise exceptions, and operations on tensors that a graph cannot represent."""

import pytest
import torch
from oracle import refusal

import autograph as ag


def _exception(function, *args):
    with pytest.raises(Exception) as raised:
        function(*args)
    return type(raised.value), str(raised.value)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + torch.ones(2),
        lambda x: x.sum() @ x.sum(),
        lambda x: x[torch.tensor([0.0, 1.0])],
        lambda x: x[:, torch.tensor([True, False])],
        lambda x: torch.where(x, 1, 0),
        lambda x: torch.stack([x, x[:1]]),
    ],
)
def test_an_operator_raises_the_exception_of_eager_torch(function):
    x = torch.arange(12.0).reshape(3, 4)
    assert _exception(ag.function(function), x) == _exception(function, x)


def test_an_operator_that_only_the_shape_function_refuses():
    shift = ag.function(lambda x: x << 1)
    x = torch.tensor([True, False])
    with pytest.warns(UserWarning, match="runs in Python"):
        torch.testing.assert_close(shift(x), x << 1)


@pytest.mark.parametrize("start", [0, 1])
def test_elementwise_operators_refuse_operands_that_overlap(start):
    def add(x):
        x[1:] += x[:-1]

    def copy(x):
        x[start:3].copy_(x[2 : 5 - start])

    for change in (add, copy):
        x, y = torch.arange(6.0), torch.arange(6.0)
        assert _exception(ag.function(change), x) == _exception(change, y)
        torch.testing.assert_close(x, y)


def test_other_parts_of_the_memory_do_not_overlap():
    def change(x):
        x[:2] += x[2:4]
        x[4:].copy_(x[:2])
        x[::2] += x[1::2]
        x += x
        x[0] = x[1]

    x, y = torch.arange(6.0), torch.arange(6.0)
    for function, tensor in ((ag.function(change), x), (change, y)):
        for _ in range(3):
            function(tensor)
    torch.testing.assert_close(x, y)


@pytest.mark.parametrize("change", [torch.Tensor.squeeze_, torch.Tensor.t_, lambda x: x.unsqueeze_(0)])
def test_the_shape_of_a_tensor_from_outside_cannot_change(change):
    def reshape(x):
        change(x)
        return x * 2

    assert "changes the shape of a tensor from outside" in refusal(reshape, torch.ones(1, 3))


def test_the_storage_offset_of_a_tensor_from_outside():
    assert "`storage_offset()`" in refusal(lambda x: x * x.storage_offset(), torch.ones(3))
    row = ag.function(lambda x: (x * 2)[1].storage_offset())
    assert row(torch.ones(2, 3)) == 3


def test_as_tensor_returns_its_argument():
    @ag.function
    def same(x):
        return torch.as_tensor(x), torch.asarray(x), torch.as_tensor(x, dtype=torch.float64)

    for _ in range(3):
        x = torch.zeros(2)
        one, two, other = same(x)
        assert one is x and two.data_ptr() == x.data_ptr() and other.dtype is torch.float64


def test_a_nested_tensor_is_refused():
    nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
    with pytest.raises(ag.StagingError, match="a nested tensor"):
        ag.function(lambda x: x * 2)(nested)


def test_gradients_are_enabled_in_a_call_without_them():
    def mixed(x):
        with torch.enable_grad():
            y = x * 2
        return y, x * 3

    staged = ag.function(mixed)
    x = torch.ones(2, requires_grad=True)
    for _ in range(3):
        with torch.no_grad():
            recorded, unrecorded = staged(x)
        assert recorded.requires_grad and not unrecorded.requires_grad
        torch.testing.assert_close(torch.autograd.grad(recorded.sum(), x)[0], torch.full((2,), 2.0))


def test_a_result_that_occurs_twice_is_one_tensor():
    twice = ag.function(lambda x: [x * 2] * 2)
    for _ in range(3):
        one, two = twice(torch.ones(2, requires_grad=True))
        assert one is two


def test_asarray_of_a_tensor_that_requires_a_gradient():
    with pytest.raises(ag.StagingError, match="use `torch.as_tensor`"):
        ag.function(lambda x: torch.asarray(x) * 2)(torch.ones(2, requires_grad=True))
