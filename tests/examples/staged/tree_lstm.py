"""A Tree-LSTM that reads the sentiment of formulas: the recursion over a tree of objects is in the graph."""

import random
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

import autograph as ag

GOOD, BAD, NOT = 0, 1, 2


class Tree(NamedTuple):
    """A leaf with a word, or a node with two subtrees."""

    word: int
    left: "Tree | None" = None
    right: "Tree | None" = None


class TreeLSTM(nn.Module):
    def __init__(self, words, width, classes):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.leaf = nn.Linear(width, 3 * width)
        self.inner = nn.Linear(2 * width, 5 * width)
        self.head = nn.Linear(width, classes)

    def embed(self, tree):
        """Returns the state and the memory of a tree."""
        if tree.left is None:
            i, o, u = self.leaf(self.embedding.weight[tree.word]).chunk(3)
            c = torch.sigmoid(i) * torch.tanh(u)
        else:
            left, left_c = self.embed(tree.left)
            right, right_c = self.embed(tree.right)
            i, f, g, o, u = self.inner(torch.cat([left, right])).chunk(5)
            c = torch.sigmoid(i) * torch.tanh(u) + torch.sigmoid(f) * left_c + torch.sigmoid(g) * right_c
        return torch.sigmoid(o) * torch.tanh(c), c

    def forward(self, tree):
        h, _ = self.embed(tree)
        return self.head(h)


@ag.function
def train_step(model, optimizer, tree, label):
    loss = F.cross_entropy(model(tree), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


@ag.function
def classify(model, tree):
    return model(tree).argmax()


def formula(rng, depth):
    """A random formula, as nested tuples: a word, or (NOT, formula)."""
    if depth == 0 or rng.random() < 0.3:
        return rng.choice([GOOD, BAD])
    return (NOT, formula(rng, depth - 1))


def meaning(formula):
    return 1 - meaning(formula[1]) if isinstance(formula, tuple) else formula


def tree_of(formula):
    return Tree(NOT, *map(tree_of, formula)) if isinstance(formula, tuple) else Tree(formula)


def main():
    torch.manual_seed(0)
    rng = random.Random(0)
    formulas = [(NOT, formula(rng, 2)) for _ in range(60)]
    samples = [(tree_of(f), torch.tensor(meaning(f))) for f in formulas]
    model = TreeLSTM(3, 16, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for epoch in range(6):
        loss = sum(train_step(model, optimizer, tree, label).item() for tree, label in samples)
        right = sum(bool(classify(model, tree) == label) for tree, label in samples)
        print(f"epoch {epoch}: loss {loss / len(samples):.3f}, {right} of {len(samples)} right")


if __name__ == "__main__":
    main()
