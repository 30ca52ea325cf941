"""Times a program as it stands and staged, call by call in turns, and tells how far their results are apart.

CPU time of the process: on a shared machine it is the steadier figure. Both are warmed up first; what staging
costs is told apart. Neighbouring calls make a pair: what slows the machine for longer slows both, so that the median of
their ratios is steady where the least time of each is not.
"""

import math
import statistics
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
    eager: list[float]
    """Milliseconds of CPU time of each call, one of each pair."""
    staged: list[float]
    staging: float
    """Milliseconds of the first call, which stages."""
    difference: float
    """The largest relative difference of a result."""

    def __add__(self, other):
        """The figures of two processes."""
        return Figures(
            self.eager + other.eager,
            self.staged + other.staged,
            min(self.staging, other.staging),
            max(self.difference, other.difference),
        )

    @property
    def ratios(self):
        return sorted(eager / staged for eager, staged in zip(self.eager, self.staged))

    @property
    def ratio(self):
        """How many times faster: the median of the pairs."""
        return statistics.median(self.ratios)

    @property
    def bound(self):
        """What the true median is above, but for one in a hundred: by the sign test, from the number of pairs alone."""
        ratios = self.ratios
        rank = math.floor(len(ratios) / 2 - 2.326 * math.sqrt(len(ratios)) / 2)
        return ratios[max(rank, 0)]


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
    """At least so many pairs, and until they have taken this many seconds."""
    staged = ag.function(workload.program)
    start = time.process_time()
    first = staged(*workload.arguments)
    staging = time.process_time() - start
    apart = difference(first, workload.program(*workload.arguments))
    variants = [("eager", workload.program), ("staged", staged)]
    took = {"eager": [], "staged": []}
    begin = time.process_time()
    while len(took["eager"]) < rounds or time.process_time() - begin < budget:
        for name, program in variants:
            start = time.process_time()
            program(*workload.arguments)
            took[name].append((time.process_time() - start) * 1e3)
        variants.reverse()
    return Figures(took["eager"], took["staged"], staging * 1e3, apart)
