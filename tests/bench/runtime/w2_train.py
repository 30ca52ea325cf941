"""W2: a linear classifier trained inside of the graph (AutoGraph, table 2)."""

import torch
import torch.nn.functional as F

from harness import Workload

STEPS, POOL, BATCH, RATE = 1000, 10, 200, 0.1


def train(x, y, W0, b0):
    W, b = W0.clone().requires_grad_(), b0.clone().requires_grad_()
    for i in range(STEPS):
        k = i % POOL
        loss = F.cross_entropy(torch.addmm(b, x[k], W), y[k])
        dW, db = torch.autograd.grad(loss, (W, b))
        with torch.no_grad():
            W.sub_(dW, alpha=RATE)
            b.sub_(db, alpha=RATE)
    return W, b, loss


def workloads():
    x, y = torch.rand(POOL, BATCH, 784), torch.randint(0, 10, (POOL, BATCH))
    yield Workload("W2 train", train, (x, y, torch.randn(784, 10) * 0.01, torch.zeros(10)), STEPS)
