"""W10: training of a language model of two LSTM layers with gradient clipping (JANUS, table 2)."""

import numpy as np
import torch
import torch.nn.functional as F

from harness import Workload, single

RATE, CLIP = 1.0, 5.0
CONFIGURATIONS = [dict(B=20, T=20, H=200, V=10000)]


def cell(x, h, c, W, b):
    i, f, g, o = torch.addmm(b, torch.cat([x, h], 1), W).chunk(4, 1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def loss_of(P, x, y, state):
    h1, c1, h2, c2 = state
    outputs = []
    for t in range(x.shape[0]):
        h1, c1 = cell(F.embedding(x[t], P[0]), h1, c1, P[1], P[2])
        h2, c2 = cell(h1, h2, c2, P[3], P[4])
        outputs.append(h2)
    return F.cross_entropy(torch.addmm(P[6], torch.cat(outputs), P[5]), y.reshape(-1)), (h1, c1, h2, c2)


def train(tokens, zero, P0):
    P = [p.clone().requires_grad_() for p in P0]
    state = (zero, zero, zero, zero)
    for k in range(tokens.shape[0]):
        loss, state = loss_of(P, tokens[k, :-1], tokens[k, 1:], state)
        gradients = torch.autograd.grad(loss, P)
        state = tuple(s.detach() for s in state)
        norm = torch.sqrt(sum((gradient * gradient).sum() for gradient in gradients))
        scale = float(CLIP / max(float(norm), CLIP))
        with torch.no_grad():
            torch._foreach_sub_(P, gradients, alpha=RATE * scale)
    return loss, P[5]


def workload(B, T, H, V, steps=5):
    rng = np.random.RandomState(0)
    tokens = torch.from_numpy(rng.randint(0, V, (steps, T + 1, B)))
    gates = (2 * H, 4 * H)
    shapes = [(V, H), gates, gates[1:], gates, gates[1:], (H, V), (V,)]
    P = [single(rng.uniform(-0.1, 0.1, shape)) for shape in shapes]
    return Workload(train, (tokens, torch.zeros(B, H), P))
