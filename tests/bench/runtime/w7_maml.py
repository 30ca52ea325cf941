"""W7: MAML, gradients through steps of gradient descent (AutoGraph, appendix D.3)."""

import torch

from harness import Workload

TASKS, META, POINTS, HIDDEN, INNER_RATE, OUTER_RATE = 8, 4, 10, 40, 0.01, 0.001


def loss_of(P, x, y):
    h = torch.relu(torch.addmm(P[1], x, P[0]))
    h = torch.relu(torch.addmm(P[3], h, P[2]))
    return (torch.addmm(P[5], h, P[4]) - y).square().mean()


def train(x, y, P0, inner):
    P = [p.clone().requires_grad_() for p in P0]
    for m in range(META):
        total = 0.0
        for t in range(TASKS):
            Q = P
            for _ in range(inner):
                gradients = torch.autograd.grad(loss_of(Q, x[m, t, 0], y[m, t, 0]), Q, create_graph=True)
                Q = [q - INNER_RATE * gradient for q, gradient in zip(Q, gradients)]
            total = total + loss_of(Q, x[m, t, 1], y[m, t, 1])
        gradients = torch.autograd.grad(total, P)
        with torch.no_grad():
            for p, gradient in zip(P, gradients):
                p.sub_(gradient, alpha=OUTER_RATE)
    return P, total


def workloads():
    x = torch.rand(META, TASKS, 2, POINTS, 1) * 10 - 5
    y = torch.sin(x)
    shapes = [(1, HIDDEN), (HIDDEN,), (HIDDEN, HIDDEN), (HIDDEN,), (HIDDEN, 1), (1,)]
    P = [torch.randn(*shape) * (0.5 if len(shape) > 1 else 0.0) for shape in shapes]
    for inner in (1, 10):
        yield Workload(f"W7 MAML inner {inner}", train, (x, y, P, inner), META)
