"""If no differentiable result depends on a leaf, its gradient is None, as in eager torch. With a gradient of zeros, momentum
and weight decay would change the leaf. A detached tensor that requires a gradient is a leaf, too."""

import pytest
import torch

import autograph as ag


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("used", [(0,), (1,), (0, 1)])
def test_gradients_of_some_results(used, create_graph):
    one, two = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)
    parameters = [*one.parameters(), *two.parameters()]

    def heads(x):
        return one(x), [two(x)], x.detach()

    def gradients(function):
        first, (second,), _ = function(torch.ones(3, 2))
        loss = sum((first, second)[index].sum() for index in used)
        return torch.autograd.grad(loss, parameters, allow_unused=True, create_graph=create_graph)

    found, expected = gradients(ag.function(heads)), gradients(heads)
    assert [g is None for g in found] == [g is None for g in expected]
    torch.testing.assert_close([g for g in found if g is not None], [g for g in expected if g is not None])


def test_each_backward_pass_has_its_own():
    one, two = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)
    first, second = ag.function(lambda x: (one(x), two(x)))(torch.ones(3, 2))
    first.sum().backward(retain_graph=True)
    assert one.weight.grad is not None and two.weight.grad is None
    second.sum().backward()
    assert two.weight.grad is not None


def test_a_parameter_written_without_history():
    source, target = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)

    @ag.function
    def step(x):
        with torch.no_grad():
            y = target(x)
        target.load_state_dict(source.state_dict())
        return (source(x) - y).sum()

    step(torch.ones(3, 2)).backward()
    assert source.weight.grad is not None
    assert target.weight.grad is None and torch.equal(target.weight, source.weight)


def test_a_detached_leaf_has_a_gradient_of_its_own():
    def descend(x):
        y = x.detach().requires_grad_()
        (y**2).sum().backward()
        first = y.grad.clone()
        (y**3).sum().backward()
        return first, y.grad, x.grad, x.requires_grad, y.requires_grad

    for x in (torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])):
        found, expected = ag.function(descend)(x), descend(x)
        torch.testing.assert_close(found[:2], expected[:2])
        assert found[2:] == expected[2:] == (None, False, True)
