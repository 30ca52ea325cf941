"""Gradients of tensors that were computed before the call. If a backward pass continues into their history, Python runs
the call."""

import pytest
import torch
from oracle import t

import autograph as ag


def _assert_same(program):
    torch.testing.assert_close(program(ag.function), program(lambda f: f))


def _warned(program):
    """Returns the results of the program. Asserts that Python has run a call, with a warning."""
    with pytest.warns(ag.FallbackWarning, match="continues in the operations that computed") as caught:
        result = program(ag.function)
    assert "help: compute the tensor in this function" in str(caught[0].message)
    return result


def test_backward_through_arguments():
    def program(stage):
        torch.manual_seed(0)
        policy = torch.nn.Linear(3, 2)
        optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)

        @stage
        def act(x):
            return torch.log_softmax(policy(x), -1)[0]

        @stage
        def update(scores, rewards):
            loss = -(torch.stack(scores) * rewards).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss.detach()

        found = [update([act(t(1, 2, k)) for k in range(3)], t(1, 2, 3)) for _ in range(3)]
        return found, [p.detach() for p in policy.parameters()]

    torch.testing.assert_close(_warned(program), program(lambda f: f))


def test_a_leaf_and_then_a_computed_tensor():
    def program(stage):
        w = t(2).requires_grad_()

        @stage
        def f(x):
            y = (x * x).sum()
            y.backward()
            return y.detach()

        x = t(1, 2).requires_grad_()
        found = [f(x), x.grad.clone(), f(x), x.grad.clone(), f(x), x.grad.clone()]
        found += [f(w * t(1, 3)), w.grad.clone(), f(x), x.grad.clone()]
        return found

    torch.testing.assert_close(_warned(program), program(lambda f: f))


def test_a_variable_that_is_a_leaf_and_then_computed():
    w = t(2).requires_grad_()
    hidden = t(1, 2).requires_grad_()

    def program(stage):
        nonlocal hidden
        w.grad = None

        @stage
        def f(x):
            (x * hidden).sum().backward()
            return x

        hidden = t(1, 2).requires_grad_()
        f(t(3, 4))
        found = [hidden.grad.clone()]
        hidden = w * t(1, 2)
        f(t(3, 4))
        return [*found, w.grad.clone()]

    torch.testing.assert_close(_warned(program), program(lambda f: f))


def test_a_gradient_with_respect_to_a_tensor_in_the_history():
    def program(stage):
        w = t(2).requires_grad_()
        y = w * w

        @stage
        def f(y):
            return torch.autograd.grad((y * w).sum(), [w])[0]

        return f(y)

    torch.testing.assert_close(_warned(program), program(lambda f: f))


def test_a_gradient_that_ends_in_the_function_is_staged(recwarn):
    def program(stage):
        w, v = t(2).requires_grad_(), t(3).requires_grad_()

        @stage
        def penalty(y):
            z = (y.detach() + 1).requires_grad_()
            (g,) = torch.autograd.grad((z * v * z).sum(), [z], create_graph=True)
            (h,) = torch.autograd.grad((y * v).sum(), [y], retain_graph=True)
            return (g * g).sum() + h.sum() + y.sum()

        result = penalty(w * w)
        result.backward()
        return result.detach(), w.grad, v.grad

    _assert_same(program)
    assert not [w for w in recwarn if issubclass(w.category, ag.FallbackWarning)]


def test_a_verified_call_is_not_compared():
    w = t(2).requires_grad_()

    @ag.function(verify=True)
    def f(y):
        y.sum().backward()
        return y.detach()

    with pytest.warns(ag.FallbackWarning, match="continues in the operations"):
        f(w * t(1, 2))
    assert w.grad.item() == 3


def test_reading_the_gradient_of_a_computed_argument_does_not_warn(recwarn):
    w = t(2).requires_grad_()

    @ag.function
    def f(y):
        return y * 2 if y.grad is None else y

    assert f(w * 3).item() == 12
    assert not [w for w in recwarn if "not a leaf" in str(w.message)]
