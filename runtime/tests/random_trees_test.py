"""Random programs over random trees of random classes have the same results and gradients staged and eager, with at most two
traces for a class. For a class without annotations, the first tree has more than one node, which shows that the class refers
to itself.

`TREES=1000 FIRST=0` in the environment sets the number of trees and the first seed. A failure names its seed.
"""

import os
import random
import warnings

import pytest
import torch

import autograph as ag
from oracle import assert_equal
from tree_programs import Program

COUNT, FIRST, OF_ONE_CLASS = int(os.environ.get("TREES", "1000")), int(os.environ.get("FIRST", "0")), 20


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT // OF_ONE_CLASS))
def test_trees(seed, tmp_path):
    program, rng = Program(seed), random.Random(seed)
    print(f"seed {seed}\n{program.text}")
    module = program.load(tmp_path / f"trees_{seed}.py")
    staged = ag.function(module.program)
    for index in range(OF_ONE_CLASS):
        args, kwargs, tensors = program.arguments(module.Node, rng)
        while index == 0 and not program.refers_to_itself(args, kwargs):
            args, kwargs, tensors = program.arguments(module.Node, rng)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = staged(*args, **kwargs)
        expected = module.program(*args, **kwargs)
        assert_equal(result, expected)
        found = torch.autograd.grad(result.sum(), tensors, allow_unused=True)
        right = torch.autograd.grad(expected.sum(), tensors, allow_unused=True)
        for one, other, tensor in zip(found, right, tensors):  # for an unused tensor of a node, None and zeros are the same
            assert_equal(torch.zeros_like(tensor) if one is None else one, torch.zeros_like(tensor) if other is None else other)
    assert len(staged.traces) <= 2, [str(trace.staging.name) for trace in staged.traces]
