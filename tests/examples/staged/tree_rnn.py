"""A TreeRNN that reads the sentiment of sentences. Trees are Python objects; the recursion over them is in the graph."""

import random
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

import autograph as ag

GOOD, BAD, FILM, PLOT, NOT = WORDS = range(5)
SENTIMENTS = {GOOD: 1, BAD: -1, FILM: 0, PLOT: 0, NOT: 0}


@dataclass
class Node:
    """A leaf with a word, or a node with two subtrees."""

    word: int | None = None
    left: "Node | None" = None
    right: "Node | None" = None

    def sentiment(self):
        if self.word is not None:
            return SENTIMENTS[self.word]
        sign = -1 if self.left.word == NOT else 1
        return self.left.sentiment() + sign * self.right.sentiment()


def random_tree(rng, depth):
    if depth == 0 or rng.random() < 0.2:
        return Node(rng.choice([GOOD, BAD, FILM, PLOT]))
    left = Node(NOT) if rng.random() < 0.25 else random_tree(rng, depth - 1)
    return Node(None, left, random_tree(rng, depth - 1))


class TreeRNN(nn.Module):
    def __init__(self, width=16, classes=3):
        super().__init__()
        self.embedding = nn.Embedding(len(WORDS), width)
        self.inner = nn.Linear(2 * width, width)
        self.head = nn.Linear(width, classes)

    def embed(self, node):
        if node.word is not None:
            return self.embedding.weight[node.word]
        return torch.tanh(self.inner(torch.cat([self.embed(node.left), self.embed(node.right)])))

    def forward(self, tree):
        return self.head(self.embed(tree))


@ag.function
def train_step(model, optimizer, tree, label):
    scores = model(tree)
    loss = F.cross_entropy(scores, label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach(), scores.argmax() == label


def main():
    torch.manual_seed(0)
    rng = random.Random(0)
    trees = [random_tree(rng, 3) for _ in range(60)]
    samples = [(tree, torch.tensor(1 + max(-1, min(1, tree.sentiment())))) for tree in trees]
    model = TreeRNN()
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
    for epoch in range(5):
        steps = [train_step(model, optimizer, tree, label) for tree, label in samples]
        loss, right = sum(loss.item() for loss, _ in steps), sum(bool(hit) for _, hit in steps)
        print(f"epoch {epoch}: loss {loss / len(steps):.3f}, {right} of {len(steps)} right")


if __name__ == "__main__":
    main()
