"""W8: an encoder and a decoder, with and without teacher forcing (AutoGraph, appendix D.4)."""

import numpy as np
import torch

from harness import Workload, single

HIDDEN, EMBEDDING = 256, 128
CONFIGURATIONS = [dict(V=V, T=64, B=16, forcing=forcing) for V in (1000, 10000) for forcing in (0, 1)]


def cell(x, h, c, W, b):
    i, f, g, o = torch.addmm(b, torch.cat([x, h], 1), W).chunk(4, 1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def model(source, target, zero, E, We, be, Wd, bd, Wo, bo, forcing: bool):
    h, c = zero, zero
    for t in range(source.shape[0]):
        h, c = cell(E[source[t]], h, c, We, be)
    token = torch.zeros_like(source[0])
    logs, tokens = [], []
    for t in range(target.shape[0]):
        h, c = cell(E[token], h, c, Wd, bd)
        log = torch.log_softmax(torch.addmm(bo, h, Wo), 1)
        if forcing:
            token = target[t]
            logs.append(log.gather(1, token.unsqueeze(1)))
        else:
            best, token = log.max(1)
            logs.append(best.unsqueeze(1))
        tokens.append(token)
    return torch.cat(logs, 1).sum(), torch.stack(tokens).sum()


def workload(V, T, B, forcing):
    rng = np.random.RandomState(0)
    scale = HIDDEN**-0.5
    source, target = (torch.from_numpy(rng.randint(0, V, (T, B))) for _ in range(2))
    gates = (EMBEDDING + HIDDEN, 4 * HIDDEN)
    E = single(rng.randn(V, EMBEDDING))
    P = [single(rng.uniform(-scale, scale, shape)) for shape in (gates, gates[1:], gates, gates[1:])]
    Wo, bo = single(rng.uniform(-scale, scale, (HIDDEN, V)) * 4), single(rng.uniform(-scale, scale, V))
    return Workload(model, (source, target, torch.zeros(B, HIDDEN), E, *P, Wo, bo, bool(forcing)))
