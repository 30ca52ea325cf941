"""Lists to which code only appends: their lengths cause no new traces, in whatever containers they are."""

import collections
import itertools

import pytest
import torch

import autograph as ag
from autograph.capture.appends import ANY, may_read, reading_paths
from oracle import assert_equal


class Log:
    """An object with attributes."""


def in_dictionary():
    logs = {"loss": [], "other": []}

    def step(x):
        logs["loss"].append(x.sum().item())
        logs["other"].extend([x.mean(), x.max().item()])
        return x * 2

    return step, logs


def in_default_dictionary():
    logs = collections.defaultdict(list)

    def step(x):
        for name, value in {"sum": x.sum(), "mean": x.mean()}.items():
            logs[name].append(value.item())
        return x * 2

    return step, logs


def in_attribute():
    log = Log()
    log.state = {"history": {"loss": []}, "rows": [[], []], "step": 0}

    def step(x):
        log.state["step"] += 1
        log.state["history"]["loss"].append(x.sum() if log.state["step"] > 0 else None)
        log.state["rows"][1].append(x.sum().item())
        return x * log.state["step"]

    return step, log.state


def in_missing_key():
    logs = {}

    def step(x):
        logs.setdefault("loss", []).append({"sum": x.sum().item(), "last": x[-1]})
        return x

    return step, logs


@pytest.mark.parametrize("make", [in_dictionary, in_default_dictionary, in_attribute, in_missing_key])
def test_appending_causes_no_new_traces(make):
    (eager, expected), (python_function, found) = make(), make()
    staged = ag.function(python_function)
    for k in range(6):
        x = torch.arange(3.0) + k
        assert_equal(staged(x), eager(x))
    assert_equal(found, expected)
    assert len(staged.traces) <= 2


def reads_last():
    logs = {"loss": [torch.tensor(1.0)]}

    def step(x):
        logs["loss"].append(x.sum())
        return x * logs["loss"][-2]

    return step


def reads_by_name():
    log = Log()
    log.loss = [1.0]

    def step(x):
        log.loss.append(x.sum().item())
        return x * len(getattr(log, "loss"))

    return step


def reads_outer_list():
    rows = [[1.0], [2.0]]

    def step(x):
        rows[0].append(x.sum().item())
        return x * sum(len(row) for row in rows)

    return step


def reads_from_the_end():
    rows = [[1.0], [2.0]]

    def step(x):
        rows[1].append(x.sum().item())
        return x * len(rows[-1])

    return step


def reads_other_name():
    rows = [1.0]
    logs = {"rows": rows}

    def step(x):
        logs["rows"].append(x.sum().item())
        return x * len(rows)

    return step


@pytest.mark.parametrize("make", [reads_last, reads_by_name, reads_outer_list, reads_from_the_end, reads_other_name])
def test_a_list_that_is_read_is_a_guard(make):
    staged, eager = ag.function(make()), make()
    for k in range(4):
        x = torch.arange(3.0) + k
        assert_equal(staged(x), eager(x))


def test_paths():
    def program(self, x, i):
        logs["loss"].append(x.sum().item())
        self.logs.setdefault("a", []).append(x if i else 2)
        rows[i].extend([x, *z])  # noqa: F821
        counts["n"] += 1  # noqa: F821
        counts["m"] = others["k"][0]  # noqa: F821
        rows[0].append([rows[1][-1]])  # noqa: F821

    logs = {}
    found = reading_paths(program.__code__)
    names = {path[0] for path in found}
    assert names.isdisjoint({"logs"}) and {"x", "i", "z", "self"} <= names
    assert {("counts", "n"), ("counts", "m"), ("others", "k", 0), ("rows", 1, ANY)} <= found
    assert ("rows",) not in found and ("rows", ANY) not in found


def test_reads_of_a_container():
    assert may_read(("a",), ("a", "b")) and may_read(("a", "b", 0), ("a", "b")) and may_read(("a", ANY), ("a", "b"))
    assert not may_read(("a", "c"), ("a", "b")) and not may_read(("b",), ("a", "b"))
    assert all(may_read((), path) for path in itertools.product(["a"], ["b", 1]))
