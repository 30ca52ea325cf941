"""Assignments to `.data`, which give a tensor the memory of another one."""

import copy

import pytest
import torch
from oracle import refusal, t

import autograph as ag


def _assert_same(program):
    found, expected = program(ag.function), program(lambda f: f)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(program(ag.function(verify=True)), expected)


def test_a_manual_step_of_gradient_descent():
    def program(stage):
        torch.manual_seed(0)
        model = torch.nn.Linear(3, 2)

        @stage
        def step(x):
            loss = model(x).pow(2).sum()
            loss.backward()
            for p in model.parameters():
                p.data = p.data - 0.1 * p.grad
                p.grad = None
            return loss.detach(), model(x).sum().detach()

        parameters = list(model.parameters())
        found = [step(t(1, 2, 3)) for _ in range(3)]
        assert all(a is b for a, b in zip(parameters, model.parameters()))
        return found, [p.detach() for p in model.parameters()]

    _assert_same(program)


def test_swapping_in_averaged_weights_and_back():
    def program(stage):
        torch.manual_seed(0)
        model = torch.nn.Linear(3, 2)
        shadow = {name: torch.full_like(p, 0.5) for name, p in model.named_parameters()}
        backup = {}

        @stage
        def apply():
            for name, p in model.named_parameters():
                backup[name] = p.data
                p.data = shadow[name]

        @stage
        def restore():
            for name, p in model.named_parameters():
                p.data = backup[name]
            backup.clear()

        @stage
        def evaluate(x):
            return model(x).detach()

        @stage
        def update():
            with torch.no_grad():
                for name, p in model.named_parameters():
                    shadow[name].mul_(0.5).add_(p, alpha=0.5)
                    p.add_(1)

        found = []
        for _ in range(3):
            update()
            before = evaluate(t(1, 2, 3))
            apply()
            found += [before, evaluate(t(1, 2, 3))]
            restore()
            found.append(evaluate(t(1, 2, 3)))
        return found, shadow, [p.detach() for p in model.parameters()]

    _assert_same(program)


def test_both_tensors_have_the_same_memory_from_then_on():
    def program(stage):
        p, q = torch.nn.Parameter(t(1, 2)), t(3, 4)
        kept = p.data

        @stage
        def f(x):
            old = p.data
            made = q * x
            p.data = q
            with torch.no_grad():
                p.add_(1)
                q.mul_(2)
                q[0] = 9
            z = torch.zeros(2)
            z.data = made
            made.add_(5)
            z.mul_(2)
            return (p * x).sum(), old.clone(), made, z

        found = [f(t(1, 2))[1:]]
        q.add_(1)
        found.append((p.detach().clone(), q.clone(), kept.clone()))
        p.data.mul_(3)
        return found, q, kept

    torch.testing.assert_close(program(ag.function), program(lambda f: f))


def test_a_gradient_is_that_of_the_parameter():
    def program(stage):
        p = torch.nn.Parameter(t(1, 2))

        @stage
        def f(x):
            (p * x).sum().backward()
            saved = p.data.clone()
            with torch.no_grad():
                p.add_(p.grad)
            p.grad = None
            (p * p * x).sum().backward()
            p.data = saved
            return (p * x).sum()

        found = []
        for _ in range(2):
            p.grad = None
            y = f(t(1, 3))
            y.backward()
            found += [y.detach(), p.grad.clone(), p.detach().clone()]
        return found

    _assert_same(program)


def test_other_shapes_and_views_cannot_be_assigned():
    def shape(x):
        x.data = torch.zeros(3)
        return x + 1

    def view(x):
        x[0].data = x.sum()
        return x

    def branch(x):
        if x.sum() > 0:
            x.data = x * 2
        return x + 1

    assert "another shape" in refusal(shape, t(1, 2))
    assert "help: copy the values instead" in refusal(view, t(1, 2))
    for x in (t(1, 2), t(-1, 0)):
        torch.testing.assert_close(ag.function(branch)(copy.deepcopy(x)), branch(copy.deepcopy(x)))


def test_an_assignment_in_a_loop_is_decided_for_the_arguments():
    def f(x, n):
        while n > 0:
            x.data = x * 2
            n = n - 1
        return x + 1

    staged = ag.function(f)
    for n in (2, 0, 3):
        torch.testing.assert_close(staged(t(1), torch.tensor(n)), f(t(1), torch.tensor(n)))


def test_a_write_to_the_earlier_memory_is_refused():
    p = torch.nn.Parameter(t(1, 2))

    @ag.function
    def f(x):
        old = p.data
        p.data = x
        old.add_(1)

    with pytest.raises(ag.StagingError, match="help: copy it before the assignment"):
        f(t(3, 4))
    assert p.tolist() == [1, 2]
