"""Exceptions that code below a staged condition raises: a library, an operator of torch, or a `raise`. Only a run that takes
the path raises them, and a `try` or `with` around the condition may catch them."""

import pytest
import torch

import autograph as ag
from oracle import assert_equal, t
from random_programs_test import load

RAISES = {
    "raise": "raise ValueError('negative')",
    "builtin": "int('x')",
    "iterator": "next(iter([]))",
    "operator": "torch.ones(2) + torch.ones(3)",
    "number": "k // 0",
    "item": "[1][7]",
    "key": "{}['missing']",
    "unpacking": "first, second = [1]",
    "function": "fail()",
}

STATEMENTS = {
    "no handler": "if s > 0: {raises}\nk += 1",
    "except": "try:\n    k += 1\n    if s > 0: {raises}\n    k += 10\nexcept Exception as error:\n    k += 100\n    name = type(error).__name__",
    "other class": "try:\n    if s > 0: {raises}\nexcept AssertionError:\n    k += 100",
    "else": "try:\n    if s > 0: {raises}\nexcept Exception:\n    k += 100\nelse:\n    k += 1000\nfinally:\n    k += 10000",
    "inner try": "try:\n    try:\n        if s > 0: {raises}\n    finally:\n        k += 10\nexcept Exception:\n    k += 100",
    "in a function": "def inner():\n    if s > 0: {raises}\n    return 5\ntry: k = inner()\nexcept Exception: k = 50",
    "suppress": "with contextlib.suppress(Exception):\n    if s > 0: {raises}\n    k += 1",
    "context manager": "with Quiet():\n    if s > 0: {raises}\n    k += 1",
    "return": "try:\n    if s > 0: {raises}\n    return k, s\nexcept Exception:\n    k += 5",
    "nested condition": "try:\n    if s > -3:\n        if s > 0: {raises}\n    k += 1\nexcept Exception:\n    k += 5",
}

MODULE = """
import contextlib
import torch

class Quiet:
    def __enter__(self): pass
    def __exit__(self, kind, *_): return kind is not None

def fail():
    raise KeyError("failed")
"""


def program(name, raises, statement):
    """Returns the text of a program."""
    body = STATEMENTS[statement].replace("{raises}", RAISES[raises]).splitlines()
    lines = ["s, k, name = x.sum(), int(n), ''", *body, "return k, s, name"]
    return f"\ndef {name}(x, n):\n" + "".join(f"    {line}\n" for line in lines)


def outcome(function, *args):
    try:
        return function(*args)
    except Exception as error:
        if isinstance(error, ag.AutographError):
            raise
        return type(error).__name__, str(error)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_same_as_eager(statement, tmp_path):
    programs = [program(f"program_{number}", raises, statement) for number, raises in enumerate(RAISES)]
    module = load(tmp_path / "exceptions.py", MODULE + "".join(programs))
    for number, raises in enumerate(RAISES):
        function = getattr(module, f"program_{number}")
        staged = ag.function(function)
        for value, n in ((-1.0, 3), (1.0, 3), (-0.5, 4), (0.5, 2)):
            args = torch.full((2,), value), torch.tensor(n)
            assert_equal((raises, outcome(staged, *args)), (raises, outcome(function, *args)))


SEEN = set()


def test_an_exception_of_python_on_a_path_that_the_call_does_not_take():
    """The function changes a set from outside, so no condition is decided, and the trace follows both paths."""

    def f(x, table):
        if x.sum() > 0:
            for key in table:
                table["new", key] = x
        SEEN.add(len(table))
        return x + len(SEEN)

    calls = (t(-1), {"a": 1}), (t(-2), {"a": 1}), (t(1), {"a": 1}), (t(-3), {"a": 1, "b": 2})
    outcomes = []
    for function in (f, ag.function(f)):
        SEEN.clear()
        found = []
        for x, table in calls:
            try:
                found.append(function(x, dict(table)).tolist())
            except RuntimeError as error:
                found.append(str(error))
        outcomes.append(found)
    assert outcomes[0] == outcomes[1]
