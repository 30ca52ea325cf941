"""A TreeRNN that reads the sentiment of sentences. Trees are encoded as tensors; the recursion is in the graph."""

import random
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

import autograph as ag

WORDS = {"good": 1, "bad": -1, "film": 0, "plot": 0, "not": 0}
VOCABULARY = {word: index for index, word in enumerate(WORDS)}


@dataclass
class Node:
    """A word, or two parts."""

    word: str | None = None
    left: "Node | None" = None
    right: "Node | None" = None

    def sentiment(self):
        if self.word is not None:
            return WORDS[self.word]
        sign = -1 if self.left.word == "not" else 1
        return self.left.sentiment() + sign * self.right.sentiment()


def random_tree(dice, depth):
    if depth == 0 or dice.random() < 0.2:
        return Node(dice.choice(["good", "bad", "film", "plot"]))
    left = Node("not") if dice.random() < 0.25 else random_tree(dice, depth - 1)
    return Node(None, left, random_tree(dice, depth - 1))


def encode(tree):
    """Columns with the children of each node, or -1, and its word. Node 0 is the root."""
    rows = []

    def add(node):
        index = len(rows)
        rows.append(None)
        is_leaf = node.word is not None
        rows[index] = (-1, -1, VOCABULARY[node.word]) if is_leaf else (add(node.left), add(node.right), 0)
        return index

    add(tree)
    return torch.tensor(rows).unbind(1)


class TreeRNN(nn.Module):
    def __init__(self, width=16, classes=3):
        super().__init__()
        self.embedding = nn.Embedding(len(WORDS), width)
        self.inner = nn.Linear(2 * width, width)
        self.head = nn.Linear(width, classes)

    def embed(self, left, right, word, node):
        if left[node] < 0:
            return self.embedding(word[node])
        a = self.embed(left, right, word, left[node])
        b = self.embed(left, right, word, right[node])
        return torch.tanh(self.inner(torch.cat([a, b])))

    def forward(self, left, right, word):
        return self.head(self.embed(left, right, word, torch.tensor(0)))


@ag.function
def train_step(model, optimizer, columns, label):
    scores = model(*columns)
    loss = F.cross_entropy(scores, label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach(), scores.argmax() == label


def main():
    torch.manual_seed(0)
    dice = random.Random(0)
    trees = [random_tree(dice, 3) for _ in range(60)]
    samples = [(encode(tree), torch.tensor(1 + max(-1, min(1, tree.sentiment())))) for tree in trees]
    model = TreeRNN()
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
    for epoch in range(5):
        steps = [train_step(model, optimizer, columns, label) for columns, label in samples]
        loss, right = sum(loss.item() for loss, _ in steps), sum(bool(hit) for _, hit in steps)
        print(f"epoch {epoch}: loss {loss / len(steps):.3f}, {right} of {len(steps)} right")


if __name__ == "__main__":
    main()
