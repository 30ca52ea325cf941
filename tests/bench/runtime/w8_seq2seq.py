"""W8: an encoder and a decoder with and without teacher forcing (AutoGraph, appendix D.4)."""

import torch

from harness import Workload

HIDDEN, BATCH, LENGTH = 256, 32, 32


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


def workloads():
    scale = HIDDEN**-0.5
    for words in (1000, 10000):
        source, target = torch.randint(0, words, (2, LENGTH, BATCH))
        gates = (2 * HIDDEN, 4 * HIDDEN)
        shapes = [(words, HIDDEN), gates, gates[1:], gates, gates[1:], (HIDDEN, words), (words,)]
        P = [torch.empty(*shape).uniform_(-scale, scale) for shape in shapes]
        for forcing in (True, False):
            name = f"W8 seq2seq V{words}" + (" forced" if forcing else "")
            yield Workload(name, model, (source, target, torch.zeros(BATCH, HIDDEN), *P, forcing), BATCH)
