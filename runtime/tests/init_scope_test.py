"""`ag.init_scope`: code that runs in Python while the enclosing function is traced."""

import linecache
import random

import pytest
import torch
from torch import nn

import autograph as ag
from oracle import refusal


class Model:
    def __init__(self):
        self.table = None
        self.layer = None
        self.made = 0


def test_state_is_created_once():
    torch.manual_seed(0)
    model = Model()
    lines = []

    @ag.function
    def function(x):
        if model.table is None:
            with ag.init_scope():
                lines.append("made")
                model.table = torch.rand(3)
                model.made += 1
            x = x * 10  # in the first call only
        return x + model.table

    first = function(torch.ones(3))
    table = model.table
    assert type(table) is torch.Tensor and torch.equal(first, 10 + table)
    for _ in range(3):
        assert torch.equal(function(torch.ones(3)), 1 + table) and model.table is table
    assert lines == ["made"] and model.made == 1 and len(function.traces) == 2
    table.add_(1)
    assert torch.equal(function(torch.ones(3)), 1 + table)
    model.table = None
    assert torch.equal(function(torch.ones(3)), 10 + model.table) and model.made == 2


def test_layers_are_created_with_the_shape_of_a_staged_tensor():
    torch.manual_seed(0)
    model = Model()

    @ag.function
    def function(x):
        if model.layer is None:
            with ag.init_scope():
                model.layer = nn.Linear(x.shape[-1], 2)
                assert not model.layer.weight.is_meta and x.dtype == torch.float32
        return model.layer(x).sum()

    x = torch.randn(4, 3)
    function(x).backward()
    grads = [p.grad for p in model.layer.parameters()]
    expected = torch.autograd.grad(model.layer(x).sum(), list(model.layer.parameters()))
    assert all(torch.equal(a, b) for a, b in zip(grads, expected))
    torch.testing.assert_close(function(2 * x), model.layer(2 * x).sum())


def test_tensors_are_constants():
    @ag.function
    def function(x):
        with ag.init_scope():
            mask = torch.arange(4) % 2 == 0
            total = int(mask.sum())  # a Python number
            listed = [total] * total
        return torch.where(mask, x, 0) + len(listed)

    assert function(torch.ones(4)).tolist() == [3, 2, 3, 2]
    assert "aten" in function.graph(torch.ones(4)) and len(function.traces) == 1


def test_code_runs_below_staged_conditions_and_loops():
    found = Model()

    @ag.function
    def function(x, n):
        i = torch.tensor(0)
        while i < n:
            if x.sum() > 0:
                if found.table is None:
                    with ag.init_scope():
                        found.table = torch.full((2,), 3.0)
                x = x - found.table
            i = i + 1
        return x

    for _ in range(3):
        assert function(torch.ones(2) * 7, torch.tensor(5)).tolist() == [-2, -2]
    assert function(-torch.ones(2), torch.tensor(5)).tolist() == [-1, -1]


def test_other_staged_functions_can_be_called():
    @ag.function
    def inner(x):
        while x.sum() < 100:
            x = x * 2
        return x

    @ag.function
    def outer(x):
        with ag.init_scope():
            start = inner(torch.ones(2))
            weight = torch.ones(2, requires_grad=True)
            (gradient,) = torch.autograd.grad(inner(weight).sum(), weight)
        return f"{x.sum()}", x + start + gradient

    text, result = outer(torch.zeros(2))
    assert text == "0.0" and result.tolist() == [128, 128]


def test_a_counter_does_not_cause_a_trace_in_each_call():
    model = Model()

    @ag.function
    def function(x):
        with ag.init_scope():
            model.made += 1
        return x + 1

    for _ in range(4):
        function(torch.ones(1))
    assert model.made == len(function.traces) == 2


def test_python_state_around_it_is_that_of_eager_code():
    def make():
        model = Model()
        model.log = []

        def function(x):
            model.made = model.made + x.sum().item()
            model.log.append(x.sum())
            if model.table is None:
                with ag.init_scope():
                    model.table = torch.ones(2)
                    model.label = "x"
            model.made = model.made + 1
            return x * model.table

        return model, function

    (staged, function), (eager, expected) = make(), make()
    function = ag.function(function)
    for value in (1.0, 2.0, 3.0):
        assert torch.equal(function(torch.full((2,), value)), expected(torch.full((2,), value)))
        assert staged.made == eager.made and staged.label == "x" and torch.equal(staged.table, eager.table)
        assert [t.item() for t in staged.log] == [t.item() for t in eager.log]


def test_random_numbers_are_drawn_once():
    random.seed(1)
    first, second = random.random(), random.random()
    random.seed(1)

    @ag.function
    def function(x):
        with ag.init_scope():
            number = random.random()
        return x + number

    assert function(torch.zeros(1, dtype=torch.float64)).item() == first
    assert function(torch.zeros(1, dtype=torch.float64)).item() == first
    assert random.random() == second


STAGED = """
def function(x):
    n = x.sum().int().item()
    items = []
    for i in range(n):
        items.append(x)
    with ag.init_scope():
        y = USE
    return x
"""


@pytest.mark.parametrize(
    "use",
    [
        "x + 1",
        "torch.ones(2) * x",
        "bool(x.sum() > 0)",
        "float(x[0])",
        "str(x)",
        "n + 1",
        "torch.zeros(n)",
        "[x * 2]",
        "x.numpy()",
        "model(x)",
        "items.append(x)",
    ],
)
def test_staged_values_are_refused(use):
    model = nn.Linear(2, 2)
    scope = {"torch": torch, "ag": ag, "model": model}
    source = STAGED.replace("USE", use)
    linecache.cache["<init_scope>"] = len(source), None, source.splitlines(True), "<init_scope>"
    exec(compile(source, "<init_scope>", "exec"), scope)
    message = refusal(scope["function"], torch.ones(2))
    assert "a staged value is used in `ag.init_scope()`" in message and f"y = {use}" in message


def test_a_change_of_state_that_the_trace_has_already_changed_is_refused():
    model = Model()

    def function(x):
        model.table = x * 2
        with ag.init_scope():
            model.table = torch.ones(2)
        return x

    assert "`ag.init_scope()` changes Model.table, which the function has changed before" in refusal(
        function, torch.ones(2)
    )


def test_outside_of_staged_functions_it_has_no_effect():
    x = torch.ones(2)
    with ag.init_scope(), torch.device("cpu"):
        y = x + 1
    assert y.tolist() == [2, 2]
    ag.run_functions_eagerly()
    try:
        assert ag.function(lambda x: x + 1)(x).tolist() == [2, 2]
    finally:
        ag.run_functions_eagerly(False)


def test_an_exception_leaves_the_block():
    @ag.function
    def function(x):
        try:
            with ag.init_scope():
                raise KeyError("none")
        except KeyError:
            x = x + 1
        return x

    assert function(torch.ones(1)).item() == 2
    with torch.device("meta"):
        assert torch.empty(1).is_meta


def test_modes_of_the_caller_apply():
    @ag.function
    def function(x):
        with ag.init_scope():
            y = torch.ones(2)
        return x + y.double()

    with torch.device("cpu"):
        assert function(torch.ones(2)).dtype == torch.float64
