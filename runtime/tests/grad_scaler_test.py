"""Training steps with `torch.amp.GradScaler` have the same scales, parameters and skipped steps as in eager torch."""

import pytest
import torch
from torch.nn.functional import mse_loss

import autograph as ag
from oracle import assert_equal


def steps(stage, optimizer_of, in_closure):
    """Runs four steps. The third batch is infinite, so the step is skipped. Returns losses, scales and parameters."""
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 1)
    optimizer = optimizer_of(model.parameters())
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)

    def backward(x):
        optimizer.zero_grad()
        loss = mse_loss(model(x)[:, 0], x.sum(1))
        scaler.scale(loss).backward()
        return loss

    def step(x):
        loss = (lambda: backward(x))() if in_closure else backward(x)
        scaler.unscale_(optimizer)
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        return loss.detach(), norm

    step, found = stage(step), []
    for k in range(5):
        x = torch.arange(12.0).reshape(4, 3) / 10 + k
        x[0, 0] = float("inf") if k == 2 else x[0, 0]
        parameters = [p.detach().clone() for p in model.parameters()]
        found.append((*step(x), scaler.get_scale(), parameters, scaler.state_dict()))
    return found


OPTIMIZERS = [lambda p: torch.optim.SGD(p, 0.1, momentum=0.9), lambda p: torch.optim.Adam(p, 0.01)]


@pytest.mark.parametrize("in_closure", [False, True])
@pytest.mark.parametrize("optimizer_of", OPTIMIZERS)
@pytest.mark.parametrize("options", [{}, {"verify": True}, {"fallback": "eager"}])
def test_steps(options, optimizer_of, in_closure):
    found = steps(lambda f: ag.function(f, **options), optimizer_of, in_closure)
    assert_equal(found, steps(lambda f: f, optimizer_of, in_closure))
