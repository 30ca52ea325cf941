"""W4: policy gradients on an environment similar to cart-pole, one episode at a time (Snek, table 2).

The random numbers are inputs, so that every variant takes the same actions.
"""

import numpy as np
import torch
import torch.nn.functional as F

from harness import Workload, single

RATE, DISCOUNT = 0.05, 0.95
CONFIGURATIONS = [dict(H=H, plays=20, steps=100, iters=10) for H in (10, 100, 1000)]


def step(s, u, A, d, W1, b1, W2, b2):
    z = torch.addmm(b2, torch.tanh(torch.addmm(b1, s, W1)), W2)
    with torch.no_grad():
        g = 2.0 * (u < torch.sigmoid(z)).float() - 1.0
        s = torch.tanh(torch.addmm(g * d, s, A))
        reward = (s[0, 2].abs() < 0.2).float()
    return s, -F.softplus(-g * z), reward


def train(A, d, s0, u, discounts, P0):
    iterations, plays, steps = u.shape
    P = [p.clone().requires_grad_() for p in P0]
    for iteration in range(iterations):
        logs, rewards = [], []
        for play in range(plays):
            s = s0[play]
            for t in range(steps):
                s, log, reward = step(s, u[iteration, play, t], A, d, *P)
                logs.append(log.view(1))
                rewards.append(reward)
        log = torch.cat(logs).view(plays, steps)
        returns = torch.mm(torch.stack(rewards).view(plays, steps), discounts.t())
        advantage = (returns - returns.mean()) / (returns.std(unbiased=False) + 1e-6)
        loss = -(log * advantage).mean()
        gradients = torch.autograd.grad(loss, P)
        with torch.no_grad():
            torch._foreach_sub_(P, gradients, alpha=RATE)
    return P, loss


def workload(H, plays, steps, iters):
    rng = np.random.RandomState(0)
    A = single(np.eye(4) * 0.9 + rng.randn(4, 4) * 0.1)
    d = single(rng.randn(1, 4) * 0.3)
    s0 = single(rng.randn(plays, 1, 4) * 0.05)
    u = single(rng.rand(iters, plays, steps))
    W1, W2 = single(rng.randn(4, H) / 2), single(rng.randn(H, 1) / np.sqrt(H))
    ahead = np.arange(steps)[None] - np.arange(steps)[:, None]
    discounts = single(np.where(ahead >= 0, DISCOUNT ** np.maximum(ahead, 0), 0))
    return Workload(train, (A, d, s0, u, discounts, [W1, torch.zeros(H), W2, torch.zeros(1)]))
