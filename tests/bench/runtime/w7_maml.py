"""W7: MAML, with gradients through steps of gradient descent (AutoGraph, appendix D.3)."""

import numpy as np
import torch

from harness import Workload, single

POINTS, HIDDEN, INNER_RATE, OUTER_RATE = 10, 40, 0.01, 0.001
CONFIGURATIONS = [dict(inner=inner, tasks=5, meta=4) for inner in (1, 10)]


def loss_of(P, x, y):
    h = torch.relu(torch.addmm(P[1], x, P[0]))
    h = torch.relu(torch.addmm(P[3], h, P[2]))
    return (torch.addmm(P[5], h, P[4]) - y).square().mean()


def train(x, y, P0, inner):
    P = [p.clone().requires_grad_() for p in P0]
    for m in range(x.shape[0]):
        total = 0.0
        for t in range(x.shape[1]):
            Q = P
            for _ in range(inner):
                gradients = torch.autograd.grad(loss_of(Q, x[m, t, 0], y[m, t, 0]), Q, create_graph=True)
                Q = [q - INNER_RATE * gradient for q, gradient in zip(Q, gradients)]
            total = total + loss_of(Q, x[m, t, 1], y[m, t, 1])
        gradients = torch.autograd.grad(total, P)
        with torch.no_grad():
            torch._foreach_sub_(P, gradients, alpha=OUTER_RATE)
    return P, total


def workload(inner, tasks, meta):
    rng = np.random.RandomState(0)
    x = single(rng.uniform(-5, 5, (meta, tasks, 2, POINTS, 1)))
    amplitude = rng.uniform(0.1, 5, (meta, tasks, 1, 1, 1))
    phase = rng.uniform(0, 3.14, (meta, tasks, 1, 1, 1))
    y = single(amplitude * np.sin(x.numpy() - phase))
    shapes = [(1, HIDDEN), (HIDDEN,), (HIDDEN, HIDDEN), (HIDDEN,), (HIDDEN, 1), (1,)]
    P = [single(rng.randn(*shape) * (0.5 / np.sqrt(shape[0]) if len(shape) > 1 else 0.01)) for shape in shapes]
    return Workload(train, (x, y, P, inner))
