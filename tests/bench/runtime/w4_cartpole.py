"""W4: policy gradients on an environment like cart-pole, one play at a time (Snek, table 2)."""

import torch
import torch.nn.functional as F

from harness import Workload

PLAYS, STEPS, ITERATIONS, RATE, DISCOUNT = 4, 100, 2, 0.05, 0.95


def step(s, u, A, d, W1, b1, W2, b2):
    z = torch.addmm(b2, torch.tanh(torch.addmm(b1, s, W1)), W2)
    with torch.no_grad():
        g = 2.0 * (u < torch.sigmoid(z)).float() - 1.0
        s = torch.tanh(torch.addmm(g * d, s, A))
        reward = (s[0, 2].abs() < 0.2).float()
    return s, -F.softplus(-g * z), reward


def train(A, d, s0, u, discounts, P0):
    P = [p.clone().requires_grad_() for p in P0]
    for iteration in range(ITERATIONS):
        logs, rewards = [], []
        for play in range(PLAYS):
            s = s0[play]
            for t in range(STEPS):
                s, log, reward = step(s, u[iteration, play, t], A, d, *P)
                logs.append(log.view(1))
                rewards.append(reward)
        log = torch.cat(logs).view(PLAYS, STEPS)
        returns = torch.mm(torch.stack(rewards).view(PLAYS, STEPS), discounts.t())
        advantage = (returns - returns.mean()) / (returns.std(unbiased=False) + 1e-6)
        loss = -(log * advantage).mean()
        gradients = torch.autograd.grad(loss, P)
        with torch.no_grad():
            for p, gradient in zip(P, gradients):
                p.sub_(gradient, alpha=RATE)
    return P, loss


def workloads():
    t = torch.arange(STEPS)
    ahead = t[None] - t[:, None]
    discounts = torch.where(ahead >= 0, DISCOUNT ** ahead.clamp(min=0).float(), torch.zeros(()))
    for hidden in (10, 100, 1000):
        A, d = torch.eye(4) * 0.9 + torch.randn(4, 4) * 0.1, torch.randn(1, 4) * 0.3
        s0, u = torch.randn(PLAYS, 1, 4) * 0.05, torch.rand(ITERATIONS, PLAYS, STEPS)
        P = [torch.randn(4, hidden) / 2, torch.zeros(hidden), torch.randn(hidden, 1) * hidden**-0.5, torch.zeros(1)]
        yield Workload(f"W4 cart-pole H{hidden}", train, (A, d, s0, u, discounts, P), ITERATIONS * PLAYS * STEPS)
