"""A Tree-LSTM that reads the sentiment of formulas: the recursion over a tree of tensors is in the graph."""

import random
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

import autograph as ag

GOOD, BAD, NOT, LEAF = 0, 1, 2, -1


class Tree(NamedTuple):
    """A binary tree: the children of each node, or LEAF, and its word. Node 0 is the root."""

    left: torch.Tensor
    right: torch.Tensor
    word: torch.Tensor


class TreeLSTM(nn.Module):
    def __init__(self, words, width, classes):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.leaf = nn.Linear(width, 3 * width)
        self.inner = nn.Linear(2 * width, 5 * width)
        self.head = nn.Linear(width, classes)

    def embed(self, tree, node):
        """State and memory of a subtree."""
        if tree.left[node] == LEAF:
            i, o, u = self.leaf(self.embedding(tree.word[node])).chunk(3)
            c = torch.sigmoid(i) * torch.tanh(u)
        else:
            left, left_c = self.embed(tree, tree.left[node])
            right, right_c = self.embed(tree, tree.right[node])
            i, f, g, o, u = self.inner(torch.cat([left, right])).chunk(5)
            c = torch.sigmoid(i) * torch.tanh(u) + torch.sigmoid(f) * left_c + torch.sigmoid(g) * right_c
        return torch.sigmoid(o) * torch.tanh(c), c

    def forward(self, tree):
        h, _ = self.embed(tree, torch.tensor(0))
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


def formula(dice, depth):
    """A random formula, as nested tuples: a word, or (NOT, formula)."""
    if depth == 0 or dice.random() < 0.3:
        return dice.choice([GOOD, BAD])
    return (NOT, formula(dice, depth - 1))


def meaning(formula):
    return 1 - meaning(formula[1]) if isinstance(formula, tuple) else formula


def tree_of(formula):
    left, right, word = [], [], []

    def add(part):
        index = len(word)
        left.append(LEAF), right.append(LEAF), word.append(0 if isinstance(part, tuple) else part)
        if isinstance(part, tuple):
            left[index], right[index] = add(part[0]), add(part[1])
        return index

    add(formula)
    return Tree(*(torch.tensor(column) for column in (left, right, word)))


def main():
    torch.manual_seed(0)
    dice = random.Random(0)
    formulas = [(NOT, formula(dice, 2)) for _ in range(60)]
    samples = [(tree_of(f), torch.tensor(meaning(f))) for f in formulas]
    model = TreeLSTM(3, 16, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for epoch in range(6):
        loss = sum(train_step(model, optimizer, tree, label).item() for tree, label in samples)
        right = sum(bool(classify(model, tree) == label) for tree, label in samples)
        print(f"epoch {epoch}: loss {loss / len(samples):.3f}, {right} of {len(samples)} right")


if __name__ == "__main__":
    main()
