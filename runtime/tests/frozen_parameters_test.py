"""Parameters that require no gradient in a part of a function: `p.requires_grad_(False)` and `p.requires_grad_(True)`."""

import pytest
import torch

import autograph as ag


def test_parameters_that_are_frozen_for_a_part_of_the_function():
    def program(stage):
        torch.manual_seed(0)
        critic, generator = torch.nn.Linear(3, 1), torch.nn.Linear(2, 3)
        optimizer = torch.optim.SGD([*critic.parameters(), *generator.parameters()], lr=0.1)

        @stage
        def step(x, z):
            optimizer.zero_grad()
            critic(x).mean().backward()
            critic.requires_grad_(False)
            critic(generator(z)).mean().backward()
            critic.requires_grad_(True)
            critic(x).pow(2).mean().backward()
            optimizer.step()
            return critic(x)

        found = []
        for _ in range(3):
            y = step(torch.randn(4, 3), torch.randn(4, 2))
            y.sum().backward()
            found.append(y.detach())
            found += [p.grad.clone() for p in [*critic.parameters(), *generator.parameters()]]
            found += [p.detach().clone() for p in critic.parameters()]
            assert all(p.requires_grad for p in critic.parameters())
        return found

    torch.testing.assert_close(program(ag.function), program(lambda f: f))


def test_a_write_before_a_parameter_is_frozen_is_kept():
    def program(stage):
        w = torch.nn.Parameter(torch.ones(3))

        @stage
        def f(x):
            with torch.no_grad():
                w.add_(1)
            w.requires_grad_(False)
            y = (w * x).sum()
            w.requires_grad_(True)
            return y, (w * x * 2).sum()

        found = []
        for _ in range(2):
            w.grad = None
            y, z = f(torch.ones(3))
            z.backward()
            found += [y, z.detach(), w.detach().clone(), w.grad]
            assert not y.requires_grad
        w.requires_grad_(True)
        return found

    torch.testing.assert_close(program(ag.function), program(lambda f: f))


def test_a_gradient_through_uses_before_and_after_freezing_is_refused():
    w = torch.nn.Parameter(torch.ones(3))

    @ag.function
    def f(x):
        y = (w * x).sum()
        w.requires_grad_(False)
        w.requires_grad_(True)
        (y + (w * x).sum()).backward()

    with pytest.raises(ag.StagingError, match="help: compute the gradient before the change"):
        f(torch.ones(3))


@pytest.mark.parametrize("in_list", [False, True])
def test_parameters_that_are_frozen_between_calls(in_list):
    """The gradients are None before each call, so only `requires_grad` shows that a parameter is frozen."""

    def program(stage):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))
        parameters = list(model.parameters()) if in_list else None

        @stage
        def step(x):
            model(x).sum().backward()
            with torch.no_grad():
                for p in parameters if in_list else model.parameters():
                    if p.grad is not None:
                        p -= 0.1 * p.grad
                    p.grad = None

        found = []
        for call in range(8):
            model[0].requires_grad_(not 2 <= call < 5)
            step(torch.ones(1, 2))
            found += [p.detach().clone() for p in model.parameters()]
        return found

    torch.testing.assert_close(program(ag.function), program(lambda f: f))
