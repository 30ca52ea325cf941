"""Gradients that a staged loop computes. A gradient that would have to continue in other iterations is refused."""

import pytest
import torch

import autograph as ag
from oracle import refusal, t


def retained(x, w, n):
    total = torch.zeros(())
    for _ in range(n):
        x = x * w
        (gradient,) = torch.autograd.grad((x * w).sum(), w, retain_graph=True)
        total = total + gradient.sum()
    return total


def from_before(x, w, n):
    x = x * w
    total = torch.zeros(())
    for _ in range(n):
        (gradient,) = torch.autograd.grad((x * w).sum(), w, retain_graph=True)
        total = total + gradient.sum()
        x = x + 1
    return total


def of_carried(x, w, n):
    y = w * 2
    for _ in range(n):
        (gradient,) = torch.autograd.grad((x * y * w).sum(), w, create_graph=True)
        w = w - 0.1 * gradient
        y = w * 2
    return w.sum()


def in_an_inner_loop(x, w, n):
    total = torch.zeros(())
    for _ in range(n):
        x = x * w
        for _ in range(n):
            (gradient,) = torch.autograd.grad((x * w).sum(), w, retain_graph=True)
            total = total + gradient.sum()
    return total


@pytest.mark.parametrize("function", [retained, from_before, of_carried, in_an_inner_loop])
def test_refused(function):
    message = refusal(function, t(1, 2), t(0.5, 3).requires_grad_(), torch.tensor(3))
    assert "detach the values that the loop carries" in message


def detached(x, w, n):
    total = torch.zeros(())
    for _ in range(n):
        x = (x * w).detach()
        (gradient,) = torch.autograd.grad((x * w).sum(), w)
        total = total + gradient.sum()
    return total


def descent(x, w, n):
    for _ in range(n):
        (gradient,) = torch.autograd.grad((x * w).square().sum(), w, create_graph=True)
        w = w - 0.1 * gradient
    return w.sum()


def momentum(x, w, n):
    velocity = torch.zeros_like(w)
    for _ in range(n):
        (gradient,) = torch.autograd.grad((x * w).square().sum(), w, create_graph=True)
        velocity = 0.9 * velocity + gradient
        w = w - 0.1 * velocity
    return w.sum()


def of_a_computed_value(x, w, n):
    for _ in range(n):
        y = x * w
        (gradient,) = torch.autograd.grad(y.square().sum(), y, create_graph=True)
        x = x + 0.1 * gradient
    return x.sum()


@pytest.mark.parametrize("function", [detached, descent, momentum, of_a_computed_value])
def test_same_as_eager(function):
    found = []
    for wrap in (lambda f: f, ag.function):
        w = t(0.5, 3).requires_grad_()
        result = wrap(function)(t(1, 2), w, torch.tensor(3))
        if result.requires_grad:
            result.backward()
        found.append((result.detach(), w.grad))
    torch.testing.assert_close(*found)


def test_two_optimizers():
    """Each loss depends on the parameters of both models, which the loop changes in place."""

    def make():
        torch.manual_seed(0)
        first, second = torch.nn.Linear(2, 2, bias=False), torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
        optimizers = torch.optim.Adam(first.parameters()), torch.optim.SGD(second.parameters(), 0.1, momentum=0.9)

        def run(steps):
            for _ in range(steps):
                for optimizer in optimizers:
                    optimizer.zero_grad()
                    second(first(torch.randn(4, 2))).square().sum().backward()
                    optimizer.step()

        return run, first, second

    found = []
    for wrap in (lambda f: f, ag.function):
        run, first, second = make()
        run = wrap(run)
        for _ in range(2):
            run(torch.tensor(3))
        found.append([*first.state_dict().values(), *second.state_dict().values()])
    torch.testing.assert_close(*found)
