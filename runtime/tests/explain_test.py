"""`ag.explain` returns the outcome of each statement."""

import json

import torch
from oracle import t

import autograph as ag


def helper(x, k):
    y = x * k
    return y + 1


def recorded(x):
    return x


def program(x, n):
    """A docstring."""
    count = 0
    names = {int(n): count}
    for k in range(3):
        x = helper(x, k)
        count += 1
    while x.sum() < n:
        x = x * 2
    if count > 5:
        x = x - 1
    x = ag.py_function(recorded, [x], x.dtype)
    return x, names


def outcomes(explanation, name):
    """Returns the outcome and the number of executions of each statement of a function."""
    function = next(f for f in explanation.functions if f.name == name)
    return {s.text: (s.outcome, s.times) for s in function.statements}


def test_each_statement():
    found = ag.explain(program, t(1, 2), torch.tensor(9))
    statements = outcomes(found, "program")
    assert statements["count = 0"] == ("Python", 1)
    assert statements["for k in range(3):"] == ("unrolled", 3)
    assert statements["while x.sum() < n:"][0] == "staged"
    assert statements["x = x * 2"][0] == "staged"
    assert statements["if count > 5:"][0] == "Python"
    assert statements["x = x - 1"] == ("not reached", 0)
    assert statements["x = ag.py_function(recorded, [x], x.dtype)"][0] == "called back"
    assert outcomes(found, "helper")["y = x * k"][0] == "staged"
    assert not any("docstring" in text for text in statements)


def test_decisions_and_refusals():
    def decided(x):
        seen = set()
        if x.sum() > 0:
            seen.add(1)
        return len(seen)

    found = outcomes(ag.explain(decided, t(1)), "decided")
    assert found["if x.sum() > 0:"][0] == "decided" and found["seen.add(1)"] == ("Python", 1)

    def refused(x):
        y = x + 1
        return y.numpy()

    explanation = ag.explain(ag.function(refused), t(1))
    assert outcomes(explanation, "refused")["return y.numpy()"][0] == "refused"
    assert "`numpy()` needs the data of a tensor" in str(explanation)


def test_text_and_json():
    explanation = ag.explain(program, t(1, 2), torch.tensor(9))
    text = str(explanation)
    assert "unrolled 3 times    for k in range(3):" in text and "tracing assumed that the number" in text
    data = json.loads(explanation.json())
    names = [function["name"] for function in data["functions"]]
    assert names == ["helper", "program"]
    assert {"line", "end_line", "text", "outcome", "times", "operations", "notes"} == set(data["functions"][0]["statements"][0])


def test_nothing_is_changed():
    history = []

    def f(x):
        history.append(x.sum())
        return x

    staged = ag.function(f)
    ag.explain(staged, t(1))
    assert not history and not staged.traces
