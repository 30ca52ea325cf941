"""W18: the CTC loss with its gradient, written as a recursion over time, and Viterbi decoding with backpointers."""

import numpy as np
import torch

from harness import Workload, single

BLANK = 0
CONFIGURATIONS = [
    dict(program="ctc", B=8, T=100, S=20, C=30),
    dict(program="viterbi", B=1, T=200, S=20, C=0),
    dict(program="viterbi", B=32, T=100, S=20, C=0),
]


def ctc(logits, targets, lengths):
    """The mean CTC loss. `logits` is [T, B, C], `targets` is [B, S], `lengths` has the number of labels of each."""
    log = torch.log_softmax(logits, 2)
    T, B, _ = log.shape
    S = targets.shape[1]
    extended = torch.full((B, 2 * S + 1), BLANK, dtype=torch.int64)
    extended[:, 1::2] = targets
    skips = (extended[:, 2:] != BLANK) & (extended[:, 2:] != extended[:, :-2])
    none = torch.full((B, 1), -1e30)
    alpha = torch.cat([log[0].gather(1, extended[:, :2]), none.expand(B, 2 * S - 1)], 1)
    for t in range(1, T):
        one = torch.cat([none, alpha[:, :-1]], 1)
        two = torch.cat([none, none, torch.where(skips, alpha[:, :-2], -1e30)], 1)
        alpha = torch.logsumexp(torch.stack([alpha, one, two]), 0) + log[t].gather(1, extended)
    ends = torch.stack([2 * lengths - 1, 2 * lengths], 1)
    return -(torch.logsumexp(alpha.gather(1, ends), 1) / lengths).mean()


def align(logits, targets, lengths):
    logits = logits.detach().requires_grad_()
    loss = ctc(logits, targets, lengths)
    loss.backward()
    return loss.detach(), logits.grad


def viterbi(emissions, transitions, start):
    """Returns the most probable states of each sequence. `emissions` is [T, B, S]."""
    score = start + emissions[0]
    back = []
    for t in range(1, emissions.shape[0]):
        best, before = (score.unsqueeze(2) + transitions).max(1)
        score = best + emissions[t]
        back.append(before)
    total, state = score.max(1)
    path = [state]
    for before in reversed(back):
        state = before.gather(1, state.unsqueeze(1)).squeeze(1)
        path.append(state)
    return total, torch.stack(path[::-1])


def workload(program, B, T, S, C):
    rng = np.random.RandomState(0)
    if program == "viterbi":
        emissions, transitions = single(rng.randn(T, B, S)), single(rng.randn(S, S))
        return Workload(viterbi, (emissions, transitions, single(rng.randn(S))))
    logits, targets = single(rng.randn(T, B, C)), torch.from_numpy(rng.randint(1, C, (B, S)))
    return Workload(align, (logits, targets, torch.from_numpy(rng.randint(S // 2, S + 1, B))))
