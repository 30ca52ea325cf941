"""W9: training of LeNet (JANUS, table 2)."""

import numpy as np
import torch
import torch.nn.functional as F

from harness import Workload, single

POOL, RATE = 4, 0.05
CONFIGURATIONS = [dict(B=50, steps=20)]


def loss_of(P, x, y):
    h = F.max_pool2d(torch.relu(F.conv2d(x, P[0], P[1], padding=2)), 2)
    h = F.max_pool2d(torch.relu(F.conv2d(h, P[2], P[3])), 2).flatten(1)
    h = torch.relu(torch.addmm(P[5], h, P[4]))
    h = torch.relu(torch.addmm(P[7], h, P[6]))
    return F.cross_entropy(torch.addmm(P[9], h, P[8]), y)


def train(x, y, P0, steps):
    P = [p.clone().requires_grad_() for p in P0]
    for i in range(steps):
        loss = loss_of(P, x[i % POOL], y[i % POOL])
        gradients = torch.autograd.grad(loss, P)
        with torch.no_grad():
            torch._foreach_sub_(P, gradients, alpha=RATE)
    return loss, P[4:]


def workload(B, steps):
    """The images and weights are drawn with the channels last, as in other frameworks, and then permuted for torch."""
    rng = np.random.RandomState(0)
    x, y = single(rng.rand(POOL, B, 28, 28, 1)), torch.from_numpy(rng.randint(0, 10, (POOL, B)))
    P = []
    for shape in [(5, 5, 1, 6), (5, 5, 6, 16), (400, 120), (120, 84), (84, 10)]:
        P += [single(rng.randn(*shape) * np.sqrt(2 / np.prod(shape[:-1]))), torch.zeros(shape[-1])]
    P[0], P[2] = (P[k].permute(3, 2, 0, 1).contiguous() for k in (0, 2))
    P[4] = P[4].view(5, 5, 16, 120).permute(2, 0, 1, 3).reshape(400, 120)
    return Workload(train, (x.permute(0, 1, 4, 2, 3).contiguous(), y, P, steps))
