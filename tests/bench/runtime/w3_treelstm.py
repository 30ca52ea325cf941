"""W3: a binary Tree-LSTM trained on random trees, one by one (AutoGraph, table 3). The recursion is Python's."""

import random

import torch
import torch.nn.functional as F

from harness import Workload

TREES, LEAVES, HIDDEN, WORDS, CLASSES, RATE = 4, 24, 150, 64, 5, 0.05


def leaf(x, W, b):
    i, o, u = torch.addmm(b, x, W).chunk(3, 1)
    c = torch.sigmoid(i) * torch.tanh(u)
    return torch.sigmoid(o) * torch.tanh(c), c


def node(left, right, W, b):
    (hl, cl), (hr, cr) = left, right
    i, fl, fr, o, u = torch.addmm(b, torch.cat([hl, hr], 1), W).chunk(5, 1)
    c = torch.sigmoid(i) * torch.tanh(u) + torch.sigmoid(fl) * cl + torch.sigmoid(fr) * cr
    return torch.sigmoid(o) * torch.tanh(c), c


def embed(tree, words, P):
    if isinstance(tree, int):
        return leaf(words[tree : tree + 1], P[0], P[1])
    return node(embed(tree[0], words, P), embed(tree[1], words, P), P[2], P[3])


def train(trees, labels, words, P0):
    P = [p.clone().requires_grad_() for p in P0]
    for tree, label in zip(trees, labels):
        h, _ = embed(tree, words, P)
        loss = F.cross_entropy(torch.addmm(P[5], h, P[4]), label)
        gradients = torch.autograd.grad(loss, P)
        with torch.no_grad():
            for p, gradient in zip(P, gradients):
                p.sub_(gradient, alpha=RATE)
    return P, loss


def grow(leaves, dice):
    if leaves == 1:
        return dice.randrange(WORDS)
    left = dice.randrange(1, leaves)
    return (grow(left, dice), grow(leaves - left, dice))


def workloads():
    dice = random.Random(0)
    trees = [grow(LEAVES, dice) for _ in range(TREES)]
    labels = [torch.tensor([dice.randrange(CLASSES)]) for _ in trees]
    words = torch.randn(WORDS, HIDDEN) * 0.1
    shapes = [(HIDDEN, 3 * HIDDEN), (3 * HIDDEN,), (2 * HIDDEN, 5 * HIDDEN), (5 * HIDDEN,), (HIDDEN, CLASSES), (CLASSES,)]
    P = [torch.randn(*shape) * 0.05 for shape in shapes]
    yield Workload("W3 tree lstm", train, (trees, labels, words, P), TREES)
