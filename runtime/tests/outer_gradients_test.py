"""`.grad` of tensors from outside is that of the tensors of the call, which need not be those of the traced call."""

import pytest
import torch

import autograph as ag


def _leaf(value, gradient=None):
    leaf = torch.full((2,), float(value), requires_grad=True)
    leaf.grad = None if gradient is None else torch.full((2,), float(gradient))
    return leaf


def _assert_same(program):
    found, expected = program(ag.function), program(lambda f: f)
    torch.testing.assert_close(found, expected)


def test_backward_adds_to_the_gradient_of_the_argument():
    def program(stage):
        step = stage(lambda x: (x * x).sum().backward())
        leaves = [_leaf(k, gradient) for k, gradient in enumerate((None, 100, None, 200, 300, None, 5))]
        for leaf in leaves:
            step(leaf)
        return [leaf.grad for leaf in leaves]

    _assert_same(program)


def test_the_gradient_of_an_argument_is_read():
    def program(stage):
        read = stage(lambda x: x * 2 if x.grad is None else x * x.grad)
        return [read(_leaf(k, gradient)).detach() for k, gradient in enumerate((None, 5, None, 6, 7))]

    _assert_same(program)


def test_a_leaf_that_an_attribute_holds_is_replaced():
    class Holder:
        pass

    def program(stage):
        holder, found = Holder(), []

        @stage
        def step(y):
            (holder.leaf * y).sum().backward()
            return holder.leaf.grad * 1

        for k, gradient in enumerate((None, 10, 100, None, 1000)):
            holder.leaf = _leaf(1, gradient)
            found += [step(torch.full((2,), float(k))), holder.leaf.grad]
        return found

    _assert_same(program)


def test_an_argument_gets_a_hook_later():
    @ag.function
    def step(x):
        return torch.autograd.grad((x * x).sum(), x)[0]

    for _ in range(3):
        step(_leaf(1))
    hooked = _leaf(1)
    hooked.register_hook(lambda gradient: gradient * 10)
    with pytest.raises(ag.StagingError, match="a hook of the argument `x`"):
        step(hooked)


def test_the_norm_of_the_gradients_of_arguments_is_clipped():
    def program(stage):
        clip = stage(lambda *leaves: torch.nn.utils.clip_grad_norm_(leaves, 1.0))
        pairs = [(_leaf(1, k + 1), _leaf(2, 3 if k % 2 else None)) for k in range(4)]
        return [(clip(*pair), [leaf.grad for leaf in pair if leaf.grad is not None]) for pair in pairs]

    _assert_same(program)
