"""W6: L-BFGS on a softmax regression, with history in Python lists (AutoGraph, appendix D.2)."""

import numpy as np
import torch
import torch.nn.functional as F

from harness import Workload, single

HISTORY, RATE, TOLERANCE, PENALTY = 10, 0.5, 1e-5, 1e-2
CONFIGURATIONS = [dict(batch=10, iters=30)]


def loss_of(w, x, y):
    return F.cross_entropy(torch.addmm(w[7840:], x, w[:7840].view(784, 10)), y) + 0.5 * PENALTY * w.dot(w)


def slope(w, x, y):
    w = w.detach().requires_grad_()
    loss = loss_of(w, x, y)
    return loss.detach(), torch.autograd.grad(loss, w)[0]


def minimize(w, x, y, iterations):
    loss, g = slope(w, x, y)
    steps, changes, weights = [], [], []
    it = 0
    scale = torch.ones(())
    while it < iterations and bool(g.norm() > TOLERANCE):
        q = g
        along = [None] * len(steps)
        for i in reversed(range(len(steps))):
            along[i] = weights[i] * steps[i].dot(q)
            q = q - along[i] * changes[i]
        q = q * scale
        for i in range(len(steps)):
            q = q + (along[i] - weights[i] * changes[i].dot(q)) * steps[i]
        new = w - RATE * q
        loss, new_g = slope(new, x, y)
        s, change = new - w, new_g - g
        curvature = change.dot(s)
        if bool(curvature > 1e-10):
            if len(steps) == HISTORY:
                steps.pop(0)
                changes.pop(0)
                weights.pop(0)
            steps.append(s)
            changes.append(change)
            weights.append(1.0 / curvature)
            scale = curvature / change.dot(change)
        w, g = new, new_g
        it += 1
    return w, loss, it


def workload(batch, iters):
    rng = np.random.RandomState(0)
    x, y = single(rng.rand(batch, 784)), torch.from_numpy(rng.randint(0, 10, batch))
    return Workload(minimize, (single(rng.randn(7850) * 0.01), x, y, iters))
