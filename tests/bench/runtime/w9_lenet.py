"""W9: LeNet, trained (JANUS, table 2)."""

import torch
import torch.nn.functional as F

from harness import Workload

STEPS, POOL, BATCH, RATE = 10, 4, 64, 0.05


def loss_of(P, x, y):
    h = F.max_pool2d(torch.relu(F.conv2d(x, P[0], P[1], padding=2)), 2)
    h = F.max_pool2d(torch.relu(F.conv2d(h, P[2], P[3])), 2).flatten(1)
    h = torch.relu(torch.addmm(P[5], h, P[4]))
    h = torch.relu(torch.addmm(P[7], h, P[6]))
    return F.cross_entropy(torch.addmm(P[9], h, P[8]), y)


def train(x, y, P0):
    P = [p.clone().requires_grad_() for p in P0]
    for i in range(STEPS):
        loss = loss_of(P, x[i % POOL], y[i % POOL])
        gradients = torch.autograd.grad(loss, P)
        with torch.no_grad():
            for p, gradient in zip(P, gradients):
                p.sub_(gradient, alpha=RATE)
    return loss, P[4:]


def workloads():
    x, y = torch.rand(POOL, BATCH, 1, 28, 28), torch.randint(0, 10, (POOL, BATCH))
    shapes = [(6, 1, 5, 5), (6,), (16, 6, 5, 5), (16,), (400, 120), (120,), (120, 84), (84,), (84, 10), (10,)]
    P = [torch.randn(*shape) * 0.1 for shape in shapes]
    yield Workload("W9 LeNet", train, (x, y, P), STEPS)
