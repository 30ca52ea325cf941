"""W2: training of a linear classifier inside the graph (AutoGraph, table 2)."""

import numpy as np
import torch
import torch.nn.functional as F

from harness import Workload, single

POOL, RATE = 10, 0.1
CONFIGURATIONS = [dict(B=200, steps=1000)]


def train(x, y, W0, b0, steps):
    W, b = W0.clone().requires_grad_(), b0.clone().requires_grad_()
    for i in range(steps):
        k = i % POOL
        loss = F.cross_entropy(torch.addmm(b, x[k], W), y[k])
        dW, db = torch.autograd.grad(loss, (W, b))
        with torch.no_grad():
            W.sub_(dW, alpha=RATE)
            b.sub_(db, alpha=RATE)
    return W, b, loss


def workload(B, steps):
    rng = np.random.RandomState(0)
    x, y = single(rng.rand(POOL, B, 784)), torch.from_numpy(rng.randint(0, 10, (POOL, B)))
    return Workload(train, (x, y, single(rng.randn(784, 10) * 0.01), torch.zeros(10), steps))
