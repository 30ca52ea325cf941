"""The programs by name, and their parameters."""

import torch

#: name -> function
PROGRAMS = {}


def program(make):
    """Adds a program to `PROGRAMS`."""
    PROGRAMS[make.__name__] = make
    return make


def params(*shapes, grad=True):
    return [torch.randn(*s).mul_(0.3).requires_grad_(grad) for s in shapes]
