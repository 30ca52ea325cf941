"""A training loop in the graph, with batches, an optimiser and early stopping."""

import math

import torch
import torch.nn.functional as F
from torch import nn

import autograph as ag


def spirals(points, arms=3):
    """Points on intertwined spirals; the class of a point is its spiral."""
    labels = torch.randint(arms, (points,))
    radius = torch.rand(points)
    angle = 4 * radius + labels * 2 * math.pi / arms + 0.1 * torch.randn(points)
    return torch.stack([radius * angle.cos(), radius * angle.sin()], 1), labels


@ag.function
def train(model, optimizer, x, y, steps, batch=64, target=0.15):
    """Trains until the smoothed loss reaches `target`, at most `steps` steps. Returns the loss and the number of steps."""
    smooth, best, step = torch.tensor(1.0), torch.tensor(math.inf), 0
    for step in range(steps):
        chosen = torch.randint(len(x), (batch,))
        loss = F.cross_entropy(model(x[chosen]), y[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        smooth = 0.95 * smooth + 0.05 * loss.detach()
        best = torch.minimum(best, smooth)
        if smooth < target:
            break
        if step % 100 == 0:
            print(f"step {step}: {smooth:.3f}")
    return best, step + 1


@ag.function
def accuracy(model, x, y):
    return (model(x).argmax(1) == y).float().mean()


def main():
    for kind, settings in (torch.optim.Adam, {"lr": 0.02}), (torch.optim.SGD, {"lr": 0.3, "momentum": 0.9}):
        torch.manual_seed(0)
        x, y = spirals(500)
        model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 3))
        optimizer = kind(model.parameters(), **settings)
        loss, steps = train(model, optimizer, x, y, torch.tensor(400))
        print(kind.__name__, f"loss {loss:.3f} after {steps} steps, accuracy {accuracy(model, x, y):.3f}")


if __name__ == "__main__":
    main()
