"""W12: training of a TreeRNN, a module that calls itself on the subtrees of an object (JANUS, table 2)."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from harness import Workload, single

WORDS, CLASSES, RATE = 2000, 2, 0.01
CONFIGURATIONS = [dict(H=H, trees=20) for H in (32, 150)]


class Node:
    """A leaf with a word, or a node with two subtrees."""

    def __init__(self, word: int | None, left: "Node | None" = None, right: "Node | None" = None):
        self.word, self.left, self.right = word, left, right


class TreeRNN(nn.Module):
    def __init__(self, H):
        super().__init__()
        self.embedding, self.inner, self.head = nn.Embedding(WORDS, H), nn.Linear(2 * H, H), nn.Linear(H, CLASSES)

    def embed(self, node):
        if node.word is not None:
            return self.embedding.weight[node.word]
        return torch.tanh(self.inner(torch.cat([self.embed(node.left), self.embed(node.right)])))

    def forward(self, node):
        return self.head(self.embed(node))


def train(model, start, trees, labels):
    """Each call starts with the same parameters, so that all calls do the same work."""
    model.load_state_dict(start)
    total = torch.zeros(())
    for tree, label in zip(trees, labels):
        loss = F.cross_entropy(model(tree), label)
        model.zero_grad()
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                p -= RATE * p.grad
        total += loss.detach()
    return total, [p.detach().clone() for p in model.parameters()]


def grow(rng):
    """Returns a random tree: joins two neighbours until one tree is left. Each leaf is a word."""
    forest = [Node(int(word)) for word in rng.randint(0, WORDS, rng.randint(10, 41))]
    while len(forest) > 1:
        k = rng.randint(0, len(forest) - 1)
        forest[k : k + 2] = [Node(None, forest[k], forest[k + 1])]
    return forest[0]


def workload(H, trees):
    rng = np.random.RandomState(0)
    model = TreeRNN(H)
    start = {name: single(rng.uniform(-0.1, 0.1, p.shape)) for name, p in model.named_parameters()}
    grown = [grow(rng) for _ in range(trees)]
    labels = [torch.tensor(int(label)) for label in rng.randint(0, CLASSES, trees)]
    return Workload(train, (model, start, grown, labels))
