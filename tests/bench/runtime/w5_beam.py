"""W5: beam search that ends when every beam has ended (AutoGraph, appendix D.1)."""

import torch

from harness import Workload

HIDDEN, WIDTH, LENGTH = 256, 4, 40


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


def workloads():
    for words in (1000, 10000):
        E, Wh = torch.randn(words, HIDDEN) * 0.3, torch.randn(HIDDEN, HIDDEN) / 16
        Wo, bo = torch.randn(HIDDEN, words) / 16, torch.randn(words) * 0.1
        h = (torch.randn(1, HIDDEN) * 0.3).expand(WIDTH, HIDDEN).contiguous()
        scores = torch.tensor([0.0] + [-1e9] * (WIDTH - 1))
        finished = torch.full((1, words), -1e9)
        finished[0, 0] = 0
        end = torch.zeros(words)
        end[0] = 1
        ramp = torch.linspace(-2, 12, LENGTH)
        arguments = (E, Wh, Wo, bo, h, scores, ramp, finished, end, WIDTH, words, LENGTH)
        yield Workload(f"W5 beam V{words}", search, arguments, LENGTH)
