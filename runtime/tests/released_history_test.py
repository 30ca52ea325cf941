"""Results whose history a `backward` in the function has released: a second backward pass is an error, as in eager torch."""

import pytest
import torch
from torch.nn import functional as F

import autograph as ag


def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))


def step_of(finish):
    """Returns a function that trains a model, and the model. `finish(loss, logits, net)` is the rest of a step."""
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

    def step(x, y):
        optimizer.zero_grad()
        logits = net(x)
        loss = F.cross_entropy(logits, y)
        result = finish(loss, logits, net)
        if finish not in USABLE:  # a step changes the parameters in place, which ends their history in eager torch
            optimizer.step()
        return result

    return step, net


def backward(loss, logits, net):
    loss.backward()
    return loss


def scaled(loss, logits, net):
    loss.backward()
    return loss / 3, loss.detach(), logits


def gradient(loss, logits, net):
    for parameter, found in zip(net.parameters(), torch.autograd.grad(loss, list(net.parameters()))):
        parameter.grad = found
    return loss


def retained(loss, logits, net):
    loss.backward(retain_graph=True)
    return loss


def penalized(loss, logits, net):
    """The penalty has a history of its own."""
    loss.backward()
    return loss.detach() + net[0].weight.square().sum()


def linear(loss, logits, net):
    """The history of a sum saves nothing, so it can be used again."""
    loss.backward()
    total = sum(parameter.sum() for parameter in net.parameters())
    total.backward()
    return total


def on_a_path(loss, logits, net):
    if loss > 100:
        loss.backward()
    return loss


def outcome(use, *args):
    try:
        return use(*args, allow_unused=True)
    except RuntimeError as error:
        return str(error).partition("(")[0]


def gradients(function, net, x, y):
    for parameter in net.parameters():
        parameter.grad = None
    result = function(x, y)
    results = result if isinstance(result, tuple) else (result,)
    flags = [r.requires_grad for r in results]
    found = [outcome(torch.autograd.grad, r.sum(), list(net.parameters())) for r in results if r.requires_grad]
    return [r.detach() for r in results], flags, found


#: A second backward pass through these is possible.
USABLE = [retained, penalized, on_a_path]
FINISHES = [backward, scaled, gradient, linear, *USABLE]


@pytest.mark.parametrize("finish", FINISHES, ids=lambda finish: finish.__name__)
def test_a_second_backward_pass_is_as_in_eager_torch(finish):
    torch.manual_seed(1)
    x, y = torch.randn(5, 3), torch.tensor([0, 1, 1, 0, 1])
    (eager, net), (program, copy) = step_of(finish), step_of(finish)
    staged = ag.function(program)
    for _ in range(4):
        expected, flags, wanted = gradients(eager, net, x, y)
        results, found_flags, found = gradients(staged, copy, x, y)
        torch.testing.assert_close(results, expected)
        assert found_flags == flags
        assert [isinstance(it, str) for it in found] == [isinstance(it, str) for it in wanted]
        assert [it for it in found if isinstance(it, str)] == [it for it in wanted if isinstance(it, str)]
        for one, other in zip(found, wanted):
            if not isinstance(one, str):
                torch.testing.assert_close(one, other)
    torch.testing.assert_close(list(copy.parameters()), list(net.parameters()))


def test_a_run_keeps_no_values_for_a_released_history():
    step, _ = step_of(backward)
    staged = ag.function(step)
    x, y = torch.randn(5, 3), torch.tensor([0, 1, 1, 0, 1])
    for _ in range(3):
        loss = staged(x, y)
    assert type(loss.grad_fn).__name__ == "ReleasedBackward"


def test_a_result_without_a_released_history_has_gradients():
    net = model()
    x = torch.randn(5, 3)

    def step(x, kept):
        loss = net(x).square().mean()
        loss.backward()
        return loss, kept * net[0].bias

    staged = ag.function(step)
    kept = torch.randn(4)
    for _ in range(3):
        loss, other = staged(x, kept)
        other.sum().backward()
        assert loss.requires_grad
