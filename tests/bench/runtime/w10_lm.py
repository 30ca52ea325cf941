"""W10: a language model of two LSTM layers, trained with its gradients clipped (JANUS, table 2)."""

import torch
import torch.nn.functional as F

from harness import Workload

HIDDEN, WORDS, BATCH, LENGTH, STEPS, RATE, CLIP = 200, 2000, 20, 20, 3, 1.0, 0.25


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


def train(tokens, P0):
    P = [p.clone().requires_grad_() for p in P0]
    state = tuple(torch.zeros(BATCH, HIDDEN) for _ in range(4))
    for k in range(STEPS):
        loss, state = loss_of(P, tokens[k, :-1], tokens[k, 1:], state)
        gradients = torch.autograd.grad(loss, P)
        state = tuple(s.detach() for s in state)
        norm = torch.sqrt(sum((gradient * gradient).sum() for gradient in gradients))
        scale = float(CLIP / max(float(norm), CLIP))
        with torch.no_grad():
            for p, gradient in zip(P, gradients):
                p.sub_(gradient, alpha=RATE * scale)
    return loss, P[5]


def workloads():
    tokens = torch.randint(0, WORDS, (STEPS, LENGTH + 1, BATCH))
    gates = (2 * HIDDEN, 4 * HIDDEN)
    shapes = [(WORDS, HIDDEN), gates, gates[1:], gates, gates[1:], (HIDDEN, WORDS), (WORDS,)]
    P = [torch.randn(*shape) * 0.05 for shape in shapes]
    yield Workload("W10 language model", train, (tokens, P), STEPS * BATCH * LENGTH)
