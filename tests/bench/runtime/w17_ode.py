"""W17: the method of Dormand and Prince with adaptive steps, for an oscillator and a neural differential equation."""

import numpy as np
import torch

from harness import Workload, single

A = [
    [1 / 5],
    [3 / 40, 9 / 40],
    [44 / 45, -56 / 15, 32 / 9],
    [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
    [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
    [35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
]
ERROR = [71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40]
RELATIVE, ABSOLUTE = 1e-4, 1e-6
CONFIGURATIONS = [
    dict(field="oscillator", B=1, until=20.0),
    dict(field="network", B=1, until=5.0),
    dict(field="network", B=64, until=5.0),
]


def oscillator(y, damping):
    """The equation of van der Pol."""
    x, v = y
    return torch.stack([v, damping * (1 - x * x) * v - x])


def network(y, W1, b1, W2, b2):
    return torch.tanh(y @ W1 + b1) @ W2 + b2


def solve(field, y, until: float, parameters):
    """Returns the solution at a time, and the numbers of accepted and rejected steps."""
    t, h = torch.zeros(()), torch.tensor(0.01)
    slope = field(y, *parameters)
    accepted, rejected = 0, 0
    while t < until:
        h = torch.minimum(h, until - t)
        slopes = [slope]
        for row in A:
            moved = y + h * sum(a * k for a, k in zip(row, slopes))
            slopes.append(field(moved, *parameters))
        error = h * sum(e * k for e, k in zip(ERROR, slopes))
        scale = ABSOLUTE + RELATIVE * torch.maximum(y.abs(), moved.abs())
        norm = (error / scale).square().mean().sqrt()
        if norm <= 1:
            t, y, slope = t + h, moved, slopes[-1]
            accepted += 1
        else:
            rejected += 1
        h = h * torch.clamp(0.9 * norm ** (-0.2), 0.2, 5.0)
    return y, accepted, rejected


def workload(field, B, until):
    rng = np.random.RandomState(0)
    if field == "oscillator":
        return Workload(solve, (oscillator, torch.tensor([2.0, 0.0]), until, [torch.tensor(5.0)]))
    shapes = [(8, 64), (64,), (64, 8), (8,)]
    P = [single(rng.randn(*shape) * 2 * shape[0] ** -0.5) for shape in shapes]
    return Workload(solve, (network, single(rng.randn(B, 8)), until, P))
