"""W3: training of a binary Tree-LSTM on random trees of objects, one at a time, by recursion (AutoGraph, table 3)."""

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F

from harness import Workload, single

WORDS, CLASSES, RATE = 2000, 5, 0.01
CONFIGURATIONS = [dict(H=150, E=300, trees=40)]


@dataclass
class Tree:
    """A leaf with a word, or a node with two subtrees."""

    word: int = 0
    left: "Tree | None" = None
    right: "Tree | None" = None


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
    if tree.left is None:
        return leaf(words[tree.word].unsqueeze(0), P[0], P[1])
    return node(embed(tree.left, words, P), embed(tree.right, words, P), P[2], P[3])


def train(trees, labels, words, P0):
    P = [p.clone().requires_grad_() for p in P0]
    for tree, label in zip(trees, labels):
        h, _ = embed(tree, words, P)
        loss = F.cross_entropy(torch.addmm(P[5], h, P[4]), label)
        gradients = torch.autograd.grad(loss, P)
        with torch.no_grad():
            torch._foreach_sub_(P, gradients, alpha=RATE)
    return P, loss


def grow(rng):
    """Returns a random tree: joins two neighbours until one tree is left. Each leaf is a word."""
    forest = [Tree(int(word)) for word in rng.randint(0, WORDS, rng.randint(10, 41))]
    while len(forest) > 1:
        k = rng.randint(0, len(forest) - 1)
        forest[k : k + 2] = [Tree(0, forest[k], forest[k + 1])]
    return forest[0]


def workload(H, E, trees):
    rng = np.random.RandomState(0)
    grown = [grow(rng) for _ in range(trees)]
    labels = [torch.tensor([int(label)]) for label in rng.randint(0, CLASSES, trees)]
    words = single(rng.randn(WORDS, E) * 0.5)
    shapes = [(E, 3 * H), (3 * H,), (2 * H, 5 * H), (5 * H,), (H, CLASSES), (CLASSES,)]
    P = [single(rng.uniform(-0.08, 0.08, shape)) for shape in shapes]
    return Workload(train, (grown, labels, words, P))
