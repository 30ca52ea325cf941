"""Compares staged and eager execution: results, changed arguments, Python state, exceptions and printed text."""

import contextlib
import copy
import gc
import io
import os
import pickle
import random
import types
import warnings

import numpy as np
import pytest
import torch

import autograph as ag


def outcome(function, args):
    """Calls a function. Returns its result or exception, and its arguments after the call."""
    try:
        result = function(*args)
    except Exception as error:
        return ("raised", type(error), str(error).splitlines()[0] if str(error) else ""), args
    return ("returned", result), args


def assert_same(function, *argument_lists):
    """Asserts that a function has the same outcome staged and eager for each of the argument lists. Returns the staged
    function."""
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
    """Returns the result of each call and the state after it."""
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
    """Asserts that there is no graph of a call, or that its run is refused, and that it runs in Python with a fallback.
    Returns the message of the error."""
    assert_falls_back(function, *args)
    with pytest.raises(ag.StagingError) as found:
        staged = ag.function(function)
        staged.graph(*args)
        staged(*args)
    return str(found.value)


def assert_falls_back(function, *args, prepare=lambda: None):
    """Asserts that with `fallback="eager"`, calls of a function that cannot be staged have the same effects as in eager
    Python. Each side runs in its own process, so that both start from the same state. `prepare` restores state that
    processes share."""
    if torch.get_default_device().type != "cpu":
        return  # CUDA does not work in a child process
    found = []
    for wrap in (lambda f: f, _fallback):
        prepare()
        found.append(_in_child_process(lambda wrap=wrap: _effects(wrap(function), args)))
    (eager, _), (staged, reasons) = found
    if "Autograd-and-Fork" in repr(found):
        return  # torch may refuse to compute gradients in a process that was forked after gradients were computed
    assert staged == eager, [(key, staged[key], eager[key]) for key in eager if staged[key] != eager[key]]
    assert reasons or eager["outcomes"][0][0] == "raised", "no call fell back to Python"


def _fallback(function):
    return ag.function(function, fallback="eager")


def _in_child_process(compute):
    """Runs a function in a fork of this process, and returns its result."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            gc.freeze()  # objects of the parent may belong to threads that do not exist here, so they are not collected
            torch.set_num_threads(1)
            try:
                found = compute()
            except BaseException as error:
                found = repr(error)
            with os.fdopen(writer, "wb") as file:
                file.write(pickle.dumps(found))
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        found = pickle.loads(file.read())
    os.waitpid(child, 0)
    assert not isinstance(found, str), found
    return found


def _effects(function, args):
    """Calls a function twice. Returns all observable effects as plain data, and the reasons for fallbacks."""
    random.seed(1)
    np.random.seed(1)
    torch.manual_seed(1)
    outcomes, inner = [], getattr(function, "python_function", function)
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()) as printed:
        warnings.simplefilter("ignore")
        for _ in range(2):
            try:
                result = function(*args)
                outcomes.append(("returned", plain(result)))
                tensors = [r for r in (result if isinstance(result, tuple) else [result]) if isinstance(r, torch.Tensor)]
                for tensor in tensors:
                    if tensor.requires_grad:
                        tensor.sum().backward(retain_graph=True)
            except (Exception, SystemExit) as error:
                outcomes.append(("raised", type(error).__name__, str(error).splitlines()[:1]))
    state = [[cell.cell_contents for cell in inner.__closure__ or ()], args, inner.__defaults__]
    numbers = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
    grads = [plain(arg.grad) for arg in args if isinstance(arg, torch.Tensor) and arg.is_leaf]
    found = {"outcomes": outcomes, "printed": printed.getvalue(), "state": plain(state), "numbers": numbers, "grads": grads}
    return found, list(getattr(function, "fallbacks", ()))


def plain(value, seen=()):
    """Converts a value to data that can be compared and sent to another process."""
    if isinstance(value, torch.Tensor):
        value = value.detach()
        if value.is_quantized:
            value = value.dequantize()
        return "tensor", str(value.dtype), value.requires_grad, value.to_dense().tolist()
    if isinstance(value, (bool, int, float, complex, str, bytes, type(None))):
        return type(value).__name__, repr(value)
    if isinstance(value, np.ndarray):
        return "array", str(value.dtype), value.tolist()
    if id(value) in seen or isinstance(value, (types.ModuleType, type, torch.dtype)):
        return type(value).__name__
    seen = (*seen, id(value))
    if isinstance(value, dict):
        return type(value).__name__, [(plain(k, seen), plain(v, seen)) for k, v in value.items()]
    if isinstance(value, (set, frozenset)):
        return type(value).__name__, sorted(map(repr, value))
    if isinstance(value, (list, tuple, bytearray)) or type(value).__name__ == "deque":
        return type(value).__name__, [plain(v, seen) for v in value]
    if isinstance(value, io.StringIO):
        return value.getvalue(), value.tell()
    if hasattr(value, "__next__"):
        return type(value).__name__, [plain(v, seen) for _, v in zip(range(3), value)]
    return type(value).__name__, plain(getattr(value, "__dict__", {}), seen)


def assert_equal(found, expected):
    """Asserts that two values have the same types, dtypes, shapes and contents. Numbers may differ by rounding."""
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
    """Returns a vector of these numbers."""
    return torch.tensor(numbers, dtype=dtype)
