"""Measures a program, eager and staged, in alternating calls, and compares the results.

Times are CPU time of the process, which varies less than wall time on a shared machine. Both variants are warmed up
first, and the time for staging is reported separately. Adjacent calls form a pair. Load on the machine affects both
calls of a pair, so the median of their ratios is more stable than the minimum time of each variant.
"""

import math
import statistics
import time
from dataclasses import dataclass
from typing import Callable

import autograph as ag
import torch
from torch.utils import _pytree as pytree

#: The maximum difference of results. Gradient descent amplifies rounding errors, most in W6 with its line search.
MAX_DIFFERENCE = 1e-2


@dataclass
class Workload:
    """A program and its arguments."""

    program: Callable
    arguments: tuple


@dataclass
class Figures:
    eager: list[float]
    """CPU milliseconds of each call, one per pair."""
    staged: list[float]
    staging: float
    """CPU milliseconds of the first call, which includes tracing."""
    difference: float
    """The largest relative difference of a result."""

    def __add__(self, other):
        """Combines the figures of two processes."""
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
        """The speedup: the median ratio of the pairs."""
        return statistics.median(self.ratios)

    @property
    def bound(self):
        """The lower confidence bound of the median at 99 %, by the sign test."""
        ratios = self.ratios
        rank = math.floor(len(ratios) / 2 - 2.326 * math.sqrt(len(ratios)) / 2)
        return ratios[max(rank, 0)]


def single(array):
    """Returns a float32 tensor. NumPy generates the data, so that they are the same in every framework."""
    return torch.from_numpy(array.astype("float32"))


def flattened(result):
    """Returns the elements of each tensor or number in a result."""
    leaves = pytree.tree_leaves(result)
    return [torch.as_tensor(leaf, dtype=torch.float64).detach().reshape(-1) for leaf in leaves]


def difference(left, right):
    """Returns the largest difference, relative to the largest absolute value of each tensor."""
    left, right = flattened(left), flattened(right)
    assert [x.shape for x in left] == [y.shape for y in right], "the results have different shapes"
    worst = 0.0
    for x, y in zip(left, right):
        scale = max(float(y.abs().max()), 1e-12) if y.numel() else 1.0
        worst = max(worst, float((x - y).abs().max()) / scale if y.numel() else 0.0)
    return worst


def measure(workload, rounds, budget):
    """Measures at least `rounds` pairs, and continues until they have taken `budget` seconds."""
    staged = ag.function(workload.program)
    start = time.process_time()
    first = staged(*workload.arguments)
    staging = time.process_time() - start
    max_difference = difference(first, workload.program(*workload.arguments))
    variants = [("eager", workload.program), ("staged", staged)]
    times = {"eager": [], "staged": []}
    begin = time.process_time()
    while len(times["eager"]) < rounds or time.process_time() - begin < budget:
        for name, program in variants:
            start = time.process_time()
            program(*workload.arguments)
            times[name].append((time.process_time() - start) * 1e3)
        variants.reverse()
    return Figures(times["eager"], times["staged"], staging * 1e3, max_difference)


def alternate(first, second, seconds=12, fewest=4, most=30):
    """Calls two variants of a program alternately. Returns the CPU milliseconds of both for each pair, and the largest
    difference of their results. The first pair, which traces and warms up, is not measured."""

    def timed(variant):
        torch.manual_seed(0)
        start = time.process_time()
        result = variant()
        return (time.process_time() - start) * 1e3, result

    max_difference = difference(first(), second())
    order, pairs, end = [first, second], [], time.time() + seconds
    while len(pairs) < fewest or time.time() < end and len(pairs) < most:
        pair = {variant: timed(variant) for variant in order}
        (one, found), (other, expected) = pair[first], pair[second]
        max_difference = max(max_difference, difference(found, expected))
        pairs.append((one, other))
        order.reverse()  # after the comparison, the caches are cold in the next call
    return pairs, max_difference
