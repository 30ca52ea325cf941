"""Decided conditions: if code that cannot be part of a graph depends on a condition, the trace contains only the branch
that its arguments take. Each run checks these decisions, and Python runs the calls that contradict them."""

import enum
import functools
import warnings

import pytest
import torch
from oracle import assert_same, assert_same_state, t

import autograph as ag

pytestmark = pytest.mark.filterwarnings("ignore:a call of")

CALLS = (t(1, 2, 3),), (t(-1, 2, -3),), (t(4, 5, 6),), (t(-1, -1, -1),)


def _raised(x):
    try:
        if x.sum() > 0:
            raise ValueError(f"{len(x)} numbers")
        x = x - 1
    except ValueError as error:
        return x * 2, str(error)
    return x, None


def _asserted(x):
    try:
        assert x.sum() > 0, "not positive"
        torch._assert(x[0] < 4, "too large")
    except AssertionError as error:
        return x * 2, str(error)[:12]  # without the explanation that pytest adds
    return x, ""


def _raised_in_a_helper(x):
    def check(x):
        if x[1] < 0:
            raise KeyError("negative")
        if x[1] > 4:
            raise KeyError("large")
        return x

    try:
        return check(x) + 1
    except KeyError:
        return x


def _kinds(x):
    found = None
    if x.sum() > 0:
        found = {"sum": x.sum()}
    return found or x


def _numbers_or_tensors(x):
    total = x.sum()
    if total > 3:
        return {"total": (total, total.item())}
    if total > 0:
        return {"total": (total.item(), 0)}
    return {"total": (0.5, total)}


def _contents(x):
    seen = set()
    if x.sum() > 0:
        seen.add("positive")
    return x * (1 + len(seen))


def _matched(x):
    match x.shape:
        case (n,) if x.sum() > 0:
            return x * n
        case _:
            return x - 1


def _compared(x):
    return sorted([x[0].item(), x[1].item(), x[2].item()])[1], min(x.unbind(), key=lambda row: row.abs())


class Scale:
    def __init__(self, by):
        self.by = by

    def __bool__(self):
        return bool(self.by > 0)


def _truth(x):
    scale = Scale(x.sum())
    return x * 2 if scale and not Scale(x[0] - 2) else x


@functools.singledispatch
def _described(value):
    return 0


@_described.register
def _of_tensor(value: torch.Tensor):
    return value.sum() if value.sum() > 0 else value[0]


@_described.register
def _of_number(value: float):
    return value * 2


@_described.register(list)
def _of_list(value):
    return sum(_described(part) for part in value)


def _dispatched(x):
    return _described(x), _described(x[0].item()), _described([x, x + 1, None])


def _after_a_decision(x):
    """The first condition is decided. The loop after it is staged."""
    text = "small"
    if x.sum() > 5:
        text = None
    while x.sum() < 20:
        x = x + 1 if x[0] > 0 else x + 2
    return x, text


@pytest.mark.parametrize(
    "function",
    [
        _raised, _asserted, _raised_in_a_helper, _kinds, _numbers_or_tensors, _contents, _matched, _compared, _truth, _dispatched,
        _after_a_decision,
    ],
)  # fmt: skip
def test_a_decision_agrees_with_python(function):
    for first in range(len(CALLS)):
        assert_same(function, *CALLS[first:], *CALLS[:first])


def test_a_decision_is_checked_by_each_run():
    staged = ag.function(_contents)
    assert torch.equal(staged(t(1, 2)), t(2, 4)) and len(staged.traces) == 1
    with pytest.warns(UserWarning, match=r"the condition in line \d+ is True"):
        assert torch.equal(staged(t(-1, -2)), t(-1, -2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.equal(staged(t(3, 2)), t(6, 4)) and len(staged.traces) == 1


def test_nothing_is_decided_after_a_call_of_python():
    def f(x):
        ag.py_function(int, [], int)
        return x * 2 if Scale(x[0]) else x

    with pytest.raises(ag.StagingError, match="whether a tensor is true"):
        ag.function(f)(t(1, 2))


def test_loops_with_many_iterations_are_not_decided():
    def f(x):
        names = set()
        while x.sum() < 1000:
            names.add(len(names))
            x = x + 1
        return x

    assert_same(f, (t(1, 2),), (t(3, 4),))
    with pytest.raises(ag.StagingError, match=r"this changes .*set"):
        ag.function(f).graph(t(1, 2))


def test_an_exception_below_an_assumption_is_that_of_python():
    """Tracing assumes that an unknown size is large, so it reaches `raise`. In the first call, the size is small."""

    def f(x):
        y = x[x > 0]
        if _is_long(y.shape[0]):
            raise ValueError("long")
        return y

    assert_same(f, (t(1, -1),), (t(1, 2, 3, 4),))


@ag.do_not_convert
def _is_long(n):
    return bool(n > 2)


class Pair(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.LazyLinear(3), torch.nn.LazyBatchNorm1d()

    def forward(self, x):
        y = self.second(self.first(x))
        return y if y[0, 0] > 0 else y * 2


@pytest.mark.parametrize("verify", [False, True])
def test_the_first_call_of_a_lazy_module_runs_in_python(verify):
    results = []
    for stage in (functools.partial(ag.function, verify=verify), lambda f: f):
        torch.manual_seed(0)
        module = Pair()
        step = stage(lambda x: module(x))
        x = torch.randn(4, 5)
        outputs = [step(x).detach() for _ in range(3)]
        results.append((outputs, dict(module.state_dict()), torch.rand(1)))
    torch.testing.assert_close(*results)


def test_the_graph_of_a_lazy_module_needs_a_first_call():
    staged = ag.function(Pair())
    with pytest.raises(ag.StagingError, match="call it once before"):
        staged.graph(torch.ones(2, 2))
    staged(torch.randn(3, 2))
    assert "if" in staged.graph(torch.ones(2, 2))


def test_loops_that_a_graph_cannot_hold():
    def f(x, n):
        seen, names = set(), {}
        while x.sum() < 10:
            seen.add(len(seen))
            x = x * 2
        for i in range(n):
            names[f"step {len(names)}"] = x + i
        for row in x[x > 3]:
            seen.add(len(seen))
        return x, len(seen), names

    calls = (t(1, 2), torch.tensor(2)), (t(3, 4), torch.tensor(2)), (t(1, 2), torch.tensor(3)), (t(5, 9), torch.tensor(0))
    for first in range(len(calls)):
        assert_same(f, *calls[first:], *calls[:first])


def test_a_decision_draws_no_random_numbers():
    def f(x):
        noise = torch.rand(3)
        names = {"large"} if noise.sum() > 1.5 else set()
        return x + noise, len(names)

    found = []
    for function in (ag.function(f), f):
        torch.manual_seed(0)
        found.append([function(t(1, 2, 3)) for _ in range(4)])
    torch.testing.assert_close(*found)


def test_a_branch_that_changes_the_dtype():
    def f(x, c):
        y = x.double() if c else x
        z = {"n": x}
        if x.sum() > 3:
            z["n"] = x.int()
        return y, z

    calls = (t(1, 2), torch.tensor(True)), (t(1, 1), torch.tensor(True)), (t(1, 2), torch.tensor(False)), (t(5, 2), torch.tensor(True))
    for first in range(len(calls)):
        assert_same(f, *calls[first:], *calls[:first])


def test_a_decision_in_a_function_that_changes_state():
    class Meter:
        def __init__(self):
            self.counts, self.n = {}, 0

    def make():
        meter = Meter()

        def f(x):
            meter.n += 1
            key = "large" if x.sum() > 3 else "small"
            if x.sum() > 3:
                meter.counts[key] = meter.counts.get(key, 0) + 1
            return x * meter.n

        return f, lambda: (dict(meter.counts), meter.n)

    assert_same_state(make, [t(1, 2), t(4, 5), t(1, 1), t(8, 8)])


def test_an_exception_that_is_caught_in_a_loop():
    """The condition cannot be decided: the graph raises, and then Python runs the call."""

    def f(x, n):
        failures = 0
        for i in range(n):
            try:
                if x.sum() > 10:
                    raise ValueError(f"too large {i}")
                x = x * 2
            except ValueError:
                failures += 1
                x = x - 20
        return x, failures

    staged = ag.function(f)
    for n in (2, 3, 6):
        torch.testing.assert_close(staged(t(1, 2), torch.tensor(n)), f(t(1, 2), torch.tensor(n)))


def test_an_exception_after_output_is_decided(capsys):
    def f(x):
        print("started")
        try:
            if x.sum() > 10:
                raise ValueError
        except ValueError:
            x = x - 20
        return x

    staged = ag.function(f)
    for x in (t(1, 2), t(10, 2), t(1, 2), t(3, 3)):
        torch.testing.assert_close(staged(x), f(x))
    assert capsys.readouterr().out == "started\n" * 8


def test_an_exception_after_a_call_of_python_cannot_be_caught():
    def f(x):
        ag.py_function(int, [], int)
        try:
            if x.sum() > 10:
                raise ValueError
        except ValueError:
            x = x - 20
        return x

    with pytest.raises(ag.StagingError, match="the `try` around it cannot catch it"):
        ag.function(f)(t(1, 2))


def test_the_index_of_a_list_of_objects_is_decided():
    steps = [torch.sin, torch.cos, lambda x: x * 2]

    def f(x, n):
        names = ["sin", "cos", "double"]
        return steps[n](x), names[n], ("a", None, 3)[n]

    staged = ag.function(f)
    for n in (0, 2, 1, -1, 0):
        torch.testing.assert_close(staged(t(1, 2), torch.tensor(n))[0], f(t(1, 2), torch.tensor(n))[0])
        assert staged(t(1, 2), torch.tensor(n))[1:] == f(t(1, 2), torch.tensor(n))[1:]
    with pytest.raises(IndexError):
        staged(t(1, 2), torch.tensor(3))


def test_the_index_of_a_list_of_objects_in_a_loop_decides_the_loop():
    def f(x, n):
        while x.sum() < 20:
            x = x + len(("a", None, "bcd")[n] or "")
        return x

    staged = ag.function(f)
    for n in (2, 0):
        torch.testing.assert_close(staged(t(1, 2), torch.tensor(n)), f(t(1, 2), torch.tensor(n)))


def _queue():
    """Returns a queue whose position is in a tensor outside of the function, and a function that reads the position."""
    pointer = torch.zeros(1, dtype=torch.long)

    def enqueued(x):
        position = int(pointer)
        queue = torch.zeros(6)
        queue[position : position + 3] = x
        pointer[0] = (position + 3) % 6
        return queue, {int(pointer): float(pointer)}

    return enqueued, lambda: pointer


def test_the_number_in_a_tensor_from_outside():
    assert_same_state(_queue, [x for x, in CALLS])


def _sliced(x):
    numbers = [1, 2, 3, 4]
    return numbers[: x[0].long()], list(reversed(numbers[x[1].long().abs() :])), [5, 6][x[0] > 1]


def _distinct(x):
    return [number for number in torch.unique_consecutive(x.sign()).tolist() if number > 0], (x > 0).nonzero().unbind()


@pytest.mark.parametrize("function", [_sliced, _distinct])
def test_numbers_that_python_needs(function):
    assert_same(function, *CALLS)


def test_numbers_that_python_needs_in_a_loop_of_the_graph():
    def shortened(x):
        while x.sum() > 0:
            x = x - 1 - len((1, 2, 3)[: x[0].long()])
        return x

    for args in CALLS:
        assert_same(shortened, args)


def test_an_index_that_is_no_integer():
    with pytest.raises(TypeError, match="list indices must be integers or slices, not float"):
        ag.function(lambda x: [1, 2][x[0]])(t(1.0, 2.0))


def unpacked(x):
    terms = [x]
    if x.sum() > 2:
        terms.append(x * 2)
    return torch.maximum(*terms) if len([*terms]) == 2 else sum(map(torch.sum, terms))


def unpacked_in_a_call(x):
    terms = [x]
    for i in range(3):
        if x[0] > i:
            terms.append(x * i)
    return torch.stack([*reversed(list(terms))])


def returned_early(x, items):
    if x.sum() > 2:
        return [x, items], {"n": items}
    return [x * 2, items], {"n": items}


@pytest.mark.filterwarnings("ignore:a call of")
def test_the_length_of_a_list_that_python_needs():
    for function in (unpacked, unpacked_in_a_call):
        assert_same(function, (t(1, 2),), (t(0, 1),), (t(3, 3),), (t(1, 0),))
    assert_same(returned_early, (t(1, 2), [t(1)]), (t(0, 1), [t(1)]), (t(3, 3), [t(2)]))


class Level(enum.IntEnum):
    LOW, HIGH = 0, 5


def test_numbers_of_different_classes():
    """A number of the graph has one class, so a condition that selects an `IntEnum`, or an `int` or a `float`, is decided."""

    def f(x):
        level = Level.LOW
        scale = 1
        if x.sum() > 3:
            level, scale = Level.HIGH, 0.5
        return x * level * scale, level.name, scale

    calls = torch.tensor([1, 1]), torch.tensor([4, 1]), torch.tensor([0, 1])
    assert_same(f, *((x,) for x in calls))
