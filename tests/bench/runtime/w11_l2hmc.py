"""W11: training of L2HMC, a sampler with learned leapfrog steps (TensorFlow Eager, figure 4)."""

import math

import numpy as np
import torch

from harness import Workload, single

SIZE, WIDTH, EPSILON, SCALE, RATE = 2, 10, 0.1, 0.1, 0.001
CENTERS = torch.tensor([[-2.0, 0.0], [2.0, 0.0]])
CONFIGURATIONS = [dict(chains=chains, leapfrogs=10, steps=5) for chains in (10, 200)]


def energy(x):
    """Returns minus the logarithm of the density of two Gaussians, and the gradient of this energy."""
    offsets = x.unsqueeze(1) - CENTERS
    logits = -offsets.square().sum(2)
    return -torch.logsumexp(logits, 1), 2 * (torch.softmax(logits, 1).unsqueeze(2) * offsets).sum(1)


def update(P, a, b, angle):
    """Returns the scale, translation and gate for one half of the state."""
    h = torch.relu(torch.addmm(P[1], torch.cat([a, b, angle.expand(len(a), 2)], 1), P[0]))
    scale, translation, gate = torch.addmm(P[3], h, P[2]).chunk(3, 1)
    return torch.tanh(scale) * P[4], translation, torch.tanh(gate) * P[5]


def kick(P, x, v, angle):
    _, gradient = energy(x)
    scale, translation, gate = update(P, x, gradient, angle)
    v = v * torch.exp(EPSILON / 2 * scale) - EPSILON / 2 * (gradient * torch.exp(EPSILON * gate) + translation)
    return v, EPSILON / 2 * scale.sum(1)


def drift(P, x, v, angle, mask):
    scale, translation, gate = update(P, mask * x, v, angle)
    moved = x * torch.exp(EPSILON * scale) + EPSILON * (v * torch.exp(EPSILON * gate) + translation)
    return mask * x + (1 - mask) * moved, EPSILON * ((1 - mask) * scale).sum(1)


def propose(P, x, v, angles, mask):
    """Returns proposals, and the probability of accepting each."""
    before = energy(x)[0] + v.square().sum(1) / 2
    volume = torch.zeros_like(before)
    for i in range(angles.shape[0]):
        v, first = kick(P[:6], x, v, angles[i])
        x, second = drift(P[6:], x, v, angles[i], mask)
        x, third = drift(P[6:], x, v, angles[i], 1 - mask)
        v, fourth = kick(P[:6], x, v, angles[i])
        volume = volume + first + second + third + fourth
    after = energy(x)[0] + v.square().sum(1) / 2
    return x, torch.exp(torch.clamp(before - after + volume, max=0.0))


def train(P0, x, noise, uniform, angles, mask):
    P = [p.clone().requires_grad_() for p in P0]
    for step in range(noise.shape[0]):
        moved, accept = propose(P, x, noise[step], angles, mask)
        distance = accept * (moved - x).square().sum(1) + 1e-4
        loss = (SCALE / distance - distance / SCALE).mean()
        gradients = torch.autograd.grad(loss, P)
        with torch.no_grad():
            torch._foreach_sub_(P, gradients, alpha=RATE)
        x = torch.where((accept > uniform[step]).unsqueeze(1), moved, x).detach()
    return x, loss, P


def workload(chains, leapfrogs, steps):
    rng = np.random.RandomState(0)
    P = []
    for _ in range(2):
        for shape in [(2 * SIZE + 2, WIDTH), (WIDTH,), (WIDTH, 3 * SIZE), (3 * SIZE,), (SIZE,), (SIZE,)]:
            P.append(single(rng.randn(*shape) * 0.1))
    time = np.arange(leapfrogs) * (2 * math.pi / leapfrogs)
    angles = single(np.stack([np.cos(time), np.sin(time)], 1))
    noise, uniform = single(rng.randn(steps, chains, SIZE)), single(rng.rand(steps, chains))
    x = single(rng.randn(chains, SIZE))
    return Workload(train, (P, x, noise, uniform, angles, torch.tensor([1.0, 0.0])))
