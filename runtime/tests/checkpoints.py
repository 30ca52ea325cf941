"""Objects that the tests of checkpoints save."""

import torch
from torch import nn

import autograph as ag


class Net(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.first = nn.Linear(3, width)
        self.norm = nn.BatchNorm1d(width)
        self.last = nn.Linear(width, 2)
        self.register_buffer("scratch", torch.zeros(2), persistent=False)
        self.losses = []
        self.best = float("inf")

    def forward(self, x):
        return self.last(self.norm(self.first(x)))


class Box:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)


def saved(path, **roots):
    """Saves a checkpoint of the roots at a path. Returns what `Checkpoint.save` returns."""
    return ag.Checkpoint(**roots).save(path)
