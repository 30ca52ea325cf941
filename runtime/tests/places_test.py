"""A staged statement changes a number, and a function reads or changes the same number: each kind of place that holds the
number, with each form of the statement."""

import copy
import itertools

import pytest
import torch

import autograph as ag
from oracle import assert_equal
from random_programs_test import load

#: How a place is made in the function, and how it is named.
PLACES = {
    "variable": ("k = int(n)", "k"),
    "attribute": ("o = Plain(); o.n = int(n)", "o.n"),
    "attribute of an attribute": ("o = Plain(); o.p = Plain(); o.p.n = int(n)", "o.p.n"),
    "slot": ("o = WithSlots(); o.n = int(n)", "o.n"),
    "key": ("d = {'n': int(n)}", "d['n']"),
    "item": ("items = [int(n), 5]", "items[0]"),
    "tensor item": ("t = torch.zeros(2) + n", "t[0]"),
    "outer attribute": ("OUTER.n = int(n)", "OUTER.n"),
    "outer key": ("KEYS['n'] = int(n)", "KEYS['n']"),
    "outer item": ("ITEMS[0] = int(n)", "ITEMS[0]"),
    "class attribute": ("Plain.n = int(n)", "Plain.n"),
}

FUNCTIONS = {
    "reads": "def f(): return {place}",
    "changes": "def f():\n    {nonlocal}{place} = {place} + 100\n    return {place}",
}

STATEMENTS = {
    "if": "if s > 0:\n    {place} = {place} + 3\nelse:\n    s = s + f()",
    "if, other order": "if s > 0:\n    f()\nelse:\n    {place} = {place} + 3",
    "elif": "if s > 0:\n    {place} = {place} + 3\nelif s > -2:\n    {place} = {place} * 2\nelse:\n    s = s + f()",
    "while": "while s < 6:\n    if s > 1: {place} = {place} + 3\n    else: s = s + 0.25 * f()\n    s = s + 1",
    "for": "for i in range(n):\n    if s > 1: {place} = {place} + 3\n    else: s = s + 0.25 * f()\n    s = s + 1",
    "break": "while True:\n    {place} = {place} + 1\n    s = s + 1\n    if f() > 6 or s > 4: break",
    "return": "if s > 0:\n    {place} = {place} + 3\n    if s > 2: return {place}, s\n    s = s + f()",
    "finally": "try:\n    if s > 0: {place} = {place} + 3\n    else: f()\nfinally:\n    if s > 1: s = s + f()",
}

VARIABLES = """
import torch

class Plain: n = 0
class WithSlots: __slots__ = ("n",)
OUTER, KEYS, ITEMS = Plain(), {"n": 0}, [0, 1]

def state():
    return Plain.n, vars(OUTER), KEYS, ITEMS
"""

CALLS = (1.0, 3), (-1.0, 3), (0.5, 2), (-0.1, 4), (0.1, 2)


@pytest.mark.parametrize("place", PLACES)
def test_same_as_eager(place, tmp_path):
    cases = list(itertools.product(FUNCTIONS, STATEMENTS))
    programs = [program(f"program_{number}", place, *case) for number, case in enumerate(cases)]
    module = load(tmp_path / "places.py", VARIABLES + "".join(programs))
    for number, case in enumerate(cases):
        function = getattr(module, f"program_{number}")
        staged = ag.function(function)
        for value, n in CALLS:
            args = torch.full((3,), value), torch.tensor(n)
            expected = function(*args), copy.deepcopy(module.state())
            found = staged(*args), module.state()
            assert_equal((case, found), (case, expected))


def program(name, place, function, statement):
    """Returns the text of a program."""
    made, expression = PLACES[place]
    declaration = "nonlocal k; " if place == "variable" else ""
    lines = "\n".join([made, FUNCTIONS[function], "s = x.sum()", STATEMENTS[statement], "return {place}, s, f()"])
    lines = lines.replace("{place}", expression).replace("{nonlocal}", declaration)
    return f"\ndef {name}(x, n):\n" + "".join(f"    {line}\n" for line in lines.splitlines())
