"""MAML: a network that learns a sine from ten points, by gradients through its own training."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

import autograph as ag


def sines(tasks, points):
    """Points of sines with an amplitude and a phase for each task."""
    amplitude, phase = 1 + 4 * torch.rand(tasks, 1, 1), 3 * torch.rand(tasks, 1, 1)
    x = 10 * torch.rand(tasks, points, 1) - 5
    return x, amplitude * torch.sin(x + phase)


def adapted(model, parameters, x, y, steps, rate):
    """Returns the parameters after some steps of gradient descent on one task."""
    for _ in range(steps):
        loss = F.mse_loss(functional_call(model, parameters, (x,)), y)
        gradients = torch.autograd.grad(loss, tuple(parameters.values()), create_graph=True)
        parameters = {
            name: value - rate * gradient for (name, value), gradient in zip(parameters.items(), gradients)
        }
    return parameters


def loss_after(model, x, y, steps, rate):
    """Returns the loss on the second half of the points of all tasks, after training on the first half."""
    half, total = x.shape[1] // 2, 0.0
    for xs, ys in zip(x, y):
        parameters = adapted(model, dict(model.named_parameters()), xs[:half], ys[:half], steps, rate)
        total = total + F.mse_loss(functional_call(model, parameters, (xs[half:],)), ys[half:])
    return total / len(x)


@ag.function
def train(model, optimizer, rounds, tasks=3, points=20, steps=1, rate=0.02):
    losses = []
    for _ in range(rounds):
        x, y = sines(tasks, points)
        loss = loss_after(model, x, y, steps, rate)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses)


test_loss = ag.function(loss_after)


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    x, y = sines(8, 20)
    for epoch in range(2):
        losses = train(model, optimizer, torch.tensor(60))
        after = [test_loss(model, x, y, steps, 0.02).item() for steps in (0, 1, 5)]
        print(f"trained at {losses[-20:].mean():.3f};", "new tasks after 0, 1, 5 steps:", *(f"{a:.3f}" for a in after))


if __name__ == "__main__":
    main()
