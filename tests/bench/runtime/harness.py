"""Times a program as it stands and staged, in turns, and tells how far their results are apart.

CPU time of the process: on a shared machine it is the steadier figure. Both are warmed up first; what staging
costs is told apart.
"""

import time
from dataclasses import dataclass
from typing import Callable

import autograph as ag
import torch
from torch.utils import _pytree as pytree


@dataclass
class Workload:
    """A program and what it is called with."""

    program: Callable
    arguments: tuple


@dataclass
class Figures:
    eager: float
    """Milliseconds of CPU time, the least of the rounds."""
    staged: float
    staging: float
    """Milliseconds of the first call, which stages."""
    difference: float
    """The largest relative difference of a result."""

    @property
    def ratio(self):
        return self.eager / self.staged


def single(array):
    """A tensor of 32-bit floats. Data are drawn by numpy, so that they are the same in every framework."""
    return torch.from_numpy(array.astype("float32"))


def numbers(result):
    leaves = pytree.tree_leaves(result)
    return [torch.as_tensor(leaf, dtype=torch.float64).detach().reshape(-1) for leaf in leaves]


def difference(left, right):
    """Relative to the largest number of each result."""
    left, right = numbers(left), numbers(right)
    assert [x.shape for x in left] == [y.shape for y in right], "the results differ in their shapes"
    worst = 0.0
    for x, y in zip(left, right):
        scale = max(float(y.abs().max()), 1e-12) if y.numel() else 1.0
        worst = max(worst, float((x - y).abs().max()) / scale if y.numel() else 0.0)
    return worst


def measure(workload, rounds, budget):
    """Interleaved rounds, until each variant has had its budget in seconds."""
    staged = ag.function(workload.program)
    start = time.process_time()
    first = staged(*workload.arguments)
    staging = time.process_time() - start
    apart = difference(first, workload.program(*workload.arguments))
    variants = {"eager": workload.program, "staged": staged}
    best = {}
    for _ in range(rounds):
        for name, program in variants.items():
            spent = 0.0
            while True:
                start = time.process_time()
                program(*workload.arguments)
                took = time.process_time() - start
                best[name] = min(best.get(name, took), took)
                spent += took
                if spent > budget / rounds:
                    break
    return Figures(best["eager"] * 1e3, best["staged"] * 1e3, staging * 1e3, apart)
