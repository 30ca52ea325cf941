"""W1: a dynamic RNN and LSTM, forward (AutoGraph, table 1). A row's state is held from its length on."""

import torch

from harness import Workload

INPUT, HIDDEN = 50, 256


def rnn(x, h, n, W, b):
    x = x.transpose(0, 1)
    outputs = []
    for t in range(x.shape[0]):
        new = torch.tanh(torch.addmm(b, torch.cat([x[t], h], 1), W))
        h = torch.where((t < n).unsqueeze(1), new, h)
        outputs.append(new)
    return torch.stack(outputs).transpose(0, 1), h


def lstm(x, h, c, n, W, b):
    x = x.transpose(0, 1)
    outputs = []
    for t in range(x.shape[0]):
        i, f, g, o = torch.addmm(b, torch.cat([x[t], h], 1), W).chunk(4, 1)
        new_c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        new_h = torch.sigmoid(o) * torch.tanh(new_c)
        is_inside = (t < n).unsqueeze(1)
        h, c = torch.where(is_inside, new_h, h), torch.where(is_inside, new_c, c)
        outputs.append(new_h)
    return torch.stack(outputs).transpose(0, 1), h, c


def workloads():
    scale = HIDDEN**-0.5
    for batch in (32, 64, 128):
        x, n = torch.randn(batch, 64, INPUT), torch.full((batch,), 64)
        zero = torch.zeros(batch, HIDDEN)
        for name, program, gates, states in (("rnn", rnn, 1, 1), ("lstm", lstm, 4, 2)):
            W = torch.empty(INPUT + HIDDEN, gates * HIDDEN).uniform_(-scale, scale)
            b = torch.empty(gates * HIDDEN).uniform_(-scale, scale)
            yield Workload(f"W1 {name} B{batch}", program, (x, *[zero] * states, n, W, b), batch)
