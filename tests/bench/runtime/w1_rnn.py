"""W1: a dynamic RNN and LSTM, forward (AutoGraph, table 1). A row keeps its state after the end of its sequence."""

import numpy as np
import torch

from harness import Workload, single

INPUT, HIDDEN = 50, 256
CONFIGURATIONS = [dict(cell=cell, B=B, T=T) for cell in ("rnn", "lstm") for B in (32, 64, 128) for T in (64, 128)]


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
    return torch.stack(outputs).transpose(0, 1), h


def workload(cell, B, T):
    rng = np.random.RandomState(0)
    program, gates, states = (rnn, 1, 1) if cell == "rnn" else (lstm, 4, 2)
    scale = HIDDEN**-0.5
    x = single(rng.randn(B, T, INPUT))
    W = single(rng.uniform(-scale, scale, (INPUT + HIDDEN, gates * HIDDEN)))
    b = single(rng.uniform(-scale, scale, gates * HIDDEN))
    n = torch.full((B,), T, dtype=torch.int32)
    return Workload(program, (x, *[torch.zeros(B, HIDDEN)] * states, n, W, b))
