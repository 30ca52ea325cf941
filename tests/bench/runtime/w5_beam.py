"""W5: beam search that stops when every beam has ended (AutoGraph, appendix D.1).

The logit of the end token grows with the step, so that the search stops before its last step.
"""

import numpy as np
import torch

from harness import Workload, single

HIDDEN = 256
CONFIGURATIONS = [dict(V=V, K=K, L=L) for V in (1000, 10000) for K in (5, 10) for L in (20, 80)]


def search(E, Wh, Wo, bo, h, scores, ramp, finished, end, K: int, V: int, L: int):
    token = torch.ones(K, dtype=torch.int64)
    done = torch.zeros(K, dtype=torch.bool)
    sequences = torch.zeros([K, L], dtype=torch.int64)
    t = 0
    while t < L and not bool(done.all()):
        h = torch.tanh(torch.addmm(E[token], h, Wh))
        log = torch.log_softmax(torch.addmm(bo + ramp[t] * end, h, Wo), 1)
        log = torch.where(done.unsqueeze(1), finished, log)
        scores, index = torch.topk((scores.unsqueeze(1) + log).view(-1), K)
        parent = torch.div(index, V, rounding_mode="floor")
        token = index - parent * V
        h, sequences, done = h[parent], sequences[parent], done[parent]
        sequences[:, t] = token
        done = done | (token == 0)
        t += 1
    return scores, sequences.sum(), t


def workload(V, K, L, **_):
    rng = np.random.RandomState(0)
    scale = HIDDEN**-0.5
    E = single(rng.randn(V, HIDDEN))
    Wh, Wo = single(rng.randn(HIDDEN, HIDDEN) * scale), single(rng.randn(HIDDEN, V) * scale)
    bo = single(rng.randn(V) * 0.1)
    h = single(np.repeat(rng.randn(1, HIDDEN), K, 0))
    scores = torch.tensor([0.0] + [-1e9] * (K - 1))
    ramp = single(12.0 * (np.arange(L) - 0.5 * L) / L)
    finished, end = torch.full((1, V), -1e9), torch.zeros(V)
    finished[0, 0], end[0] = 0, 1
    return Workload(search, (E, Wh, Wo, bo, h, scores, ramp, finished, end, K, V, L))
