"""Compares staged and eager execution: results, changed arguments, Python state, exceptions and printed text."""

import copy
import random

import numpy as np
import pytest
import torch

import autograph as ag


def outcome(function, args):
    """The outcome of a call: its result or exception, and its arguments afterwards."""
    try:
        result = function(*args)
    except Exception as error:
        return ("raised", type(error), str(error).splitlines()[0] if str(error) else ""), args
    return ("returned", result), args


def assert_same(function, *argument_lists):
    """Asserts that a function has the same outcome staged and eager for each of the argument lists."""
    staged = ag.function(function)
    for args in argument_lists:
        expected = outcome(function, copy.deepcopy(args))
        found = outcome(staged, copy.deepcopy(args))
        assert_equal(found, expected)
    return staged


def assert_same_state(make, calls):
    """Asserts that consecutive staged calls have the same results, and leave the same state, as eager calls.

    `make` returns a new function, and optionally a function that reads the state."""
    torch.testing.assert_close(*[_results_and_states(make, wrap, calls) for wrap in (ag.function, lambda f: f)])


def _results_and_states(make, wrap, calls):
    random.seed(1)
    np.random.seed(1)
    case = make()
    function, *state = case if isinstance(case, tuple) else (case,)
    function = wrap(function)
    found = []
    for x in calls:
        results = (function(x), *(read() for read in state))
        found.append(torch.utils._pytree.tree_map(lambda v: v.clone() if isinstance(v, torch.Tensor) else v, results))
    return found


def refusal(function, *args):
    """The message of the error with which staging rejects the function."""
    with pytest.raises(ag.StagingError) as found:
        ag.function(function)(*args)
    return str(found.value)


def assert_equal(found, expected):
    if isinstance(expected, torch.Tensor):
        assert isinstance(found, torch.Tensor), found
        assert found.dtype == expected.dtype and found.shape == expected.shape, (found, expected)
        torch.testing.assert_close(found.detach(), expected.detach(), equal_nan=True)
    elif isinstance(expected, (list, tuple)):
        assert type(found) is type(expected) and len(found) == len(expected), (found, expected)
        for one, other in zip(found, expected):
            assert_equal(one, other)
    elif isinstance(expected, dict):
        assert list(found) == list(expected)
        for key in expected:
            assert_equal(found[key], expected[key])
    elif isinstance(expected, float):
        assert type(found) is float
        torch.testing.assert_close(found, expected, equal_nan=True)
    else:
        assert type(found) is type(expected) and found == expected, (found, expected)


def t(*numbers, dtype=torch.float32):
    return torch.tensor(numbers, dtype=dtype)
