"""`@ag.function(fallback="eager")`: calls that cannot be staged run in Python, with the same effects as eager Python.

The number of random programs is a quarter of the environment variable `PROGRAMS`; `FIRST` is the first seed. A failure names
its seed. Other test files check programs that cannot be staged with `oracle.refusal`, which also calls them with a
fallback.
"""

import contextlib
import copy
import hashlib
import io
import json
import logging
import random
import sys
import warnings

import numpy as np
import pytest
import torch

import autograph as ag
import programs
from oracle import assert_equal, assert_falls_back, plain, t
from random_programs_test import CHUNK, FIRST, load, run
from random_programs_test import COUNT as PROGRAMS

COUNT = max(CHUNK, PROGRAMS // 4)


@pytest.fixture(autouse=True)
def deterministic_kernels():
    """Runs graphs with libtorch's kernels, because printed numbers are compared digit by digit."""
    ag.use_deterministic_kernels(True)
    yield
    ag.use_deterministic_kernels(False)


pytestmark = pytest.mark.filterwarnings("ignore::autograph.FallbackWarning")


@pytest.mark.parametrize("first", range(FIRST, FIRST + COUNT, CHUNK))
def test_programs_with_planted_statements(first, tmp_path):
    seeds = range(first, min(first + CHUNK, FIRST + COUNT))
    module = load(tmp_path / f"planted_{first}.py", programs.module_text(seeds, programs.PlantedProgram))
    module.plain = plain
    failures, staged, calls = [], 0, 0
    for seed in seeds:
        try:
            with default_dtype(seed):
                counts = compare(module, getattr(module, f"program_{seed}"), seed)
            staged, calls = staged + counts[0], calls + counts[1]
        except Exception as error:
            text = programs.PlantedProgram(seed).text(f"program_{seed}")
            failures.append(f"seed {seed}: {type(error).__name__}: {error}\n{text}")
    print(f"seeds {seeds}: {staged} of {calls} calls ran a graph")
    assert not failures, f"{len(failures)} of {len(seeds)} differ\n\n" + "\n".join(failures[:3])
    assert 0 < staged < calls


@pytest.mark.parametrize("first", range(FIRST, FIRST + COUNT, CHUNK))
def test_gradients_of_programs_with_planted_statements(first, tmp_path):
    seeds = range(first, min(first + CHUNK, FIRST + COUNT))
    module = load(tmp_path / f"planted_{first}.py", programs.module_text(seeds, programs.PlantedProgram))
    failures = []
    for seed in seeds:
        try:
            with default_dtype(seed):
                compare_gradients(module, getattr(module, f"program_{seed}"), seed)
        except Exception as error:
            text = programs.PlantedProgram(seed).text(f"program_{seed}")
            failures.append(f"seed {seed}: {type(error).__name__}: {error}\n{text}")
    assert not failures, f"{len(failures)} of {len(seeds)} differ\n\n" + "\n".join(failures[:3])


def compare_gradients(module, function, seed):
    """Compares the gradients of three calls."""
    module.plain = plain
    outcomes = []
    for wrap in (lambda f: f, lambda f: ag.function(f, fallback="eager")):
        wrapped, found = wrap(function), []
        for n in (3, 3, 2):
            reset(module)
            torch.manual_seed(seed + n)
            a, m = torch.randn(3, requires_grad=True), torch.randn(2, 3, requires_grad=True)
            with contextlib.redirect_stdout(io.StringIO()):
                try:
                    x, y, z, *_, rows = wrapped(a * 1, m * 1, torch.tensor(n))[:19]
                    total = x.sum() + y.sum() + z.sum()
                    if total.requires_grad:
                        total.backward()
                except (UnboundLocalError, NameError, IndexError, ZeroDivisionError, RuntimeError):
                    break  # a run that fails leaves the state unchanged
            found.append((a.grad, m.grad))
        outcomes.append(found)
    expected, found = outcomes
    assert len(found) >= len(expected)  # eager Python may stop earlier, at an in-place write that autograd refuses
    for one, other in zip(found, expected):
        assert_gradients(one, other)


@contextlib.contextmanager
def default_dtype(seed):
    """Sets the default dtype inside a `with` statement: float64 for odd seeds, float32 for even ones."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64 if seed % 2 else torch.float32)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def assert_gradients(found, expected):
    """Asserts that gradients are equal. If the result does not depend on a tensor, eager Python may return None instead of
    zeros."""
    for one, other in zip(found, expected):
        if other is None and one is not None:
            assert not one.any()
        else:
            assert_equal(one, other)


def compare(module, function, seed):
    """Compares four calls, and the state after each. Returns the number of calls that ran a graph, and the number of all
    calls."""
    torch.manual_seed(seed)
    calls = [(torch.randn(3), torch.randn(2, 3), torch.tensor(n)) for n in (3, 0, 3, 2)]
    staged = ag.function(function, fallback="eager")
    reset(module)
    expected = [effects(module, function, args) for args in calls]
    reset(module)
    count = 0
    for args, outcome in zip(calls, expected):
        before = sum(staged.fallbacks.values())
        found = effects(module, staged, args)
        if found[0][0] == "raised" and sum(staged.fallbacks.values()) == before:
            assert_equal(found[0], outcome[0])
            break  # a run that fails leaves the state unchanged
        assert_equal(found, outcome)
        count += sum(staged.fallbacks.values()) == before
    return count, len(calls)


def reset(module):
    module.reset()
    module.reset_planted()


def effects(module, function, args):
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        outcome = run(function, args)
    numbers = random.random(), np.random.rand(), torch.rand(3)
    return outcome, copy.deepcopy(module.state()), module.planted_state(), numbers, printed.getvalue()


def test_each_reason_is_reported_once_and_counted():
    @ag.function(fallback="eager")
    def f(x):
        if x.shape[0] > 2:
            return x.numpy() + 2  # the first
        return torch.from_numpy(x.numpy())  # the second

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for x in (t(1), t(1, 2, 3), t(1), t(2), t(1, 2, 3)):
            f(x)
    assert [w.category for w in found] == [ag.FallbackWarning] * 2
    assert "# the second" in str(found[0].message) and "# the first" in str(found[1].message)
    assert found[0].filename == __file__ and "`f` runs in Python" in str(found[0].message)
    assert list(f.fallbacks.values()) == [3, 2] and all("fallback_test.py" in reason for reason in f.fallbacks)


def test_a_warning_that_is_an_error_comes_before_the_call():
    seen = []

    @ag.function(fallback="eager")
    def f(x):
        seen.append(1)
        return x.numpy()

    with warnings.catch_warnings(), pytest.raises(ag.FallbackWarning):
        warnings.simplefilter("error")
        f(t(1))
    assert not seen


def test_without_a_fallback_it_is_an_error():
    with pytest.raises(ag.StagingError, match="(?s)line .*complex.x"):
        ag.function(lambda x: complex(x))(t(1))


@pytest.mark.parametrize("value", ["python", True, "Eager", 1])
def test_values_of_fallback(value):
    with pytest.raises(ValueError, match=r"`fallback` is 'eager' or None, not"):
        ag.function(fallback=value)


def test_exceptions_of_python_are_not_fallbacks():
    @ag.function(fallback="eager")
    def f(x, d):
        return x + d["a"]

    with pytest.raises(KeyError):
        f(t(1), {"b": 1})
    assert not f.fallbacks
    assert_equal(f(t(1), {"a": 1}), t(2))
    assert len(f.traces) == 1


def test_other_signatures_stay_staged():
    @ag.function(fallback="eager")
    def f(x, exact):
        return torch.from_numpy(x.numpy()) if exact else x + 1

    for exact in (True, False, True, False):
        assert_equal(f(t(1), exact), t(1) if exact else t(2))
    assert len(f.traces) == 1 and list(f.fallbacks.values()) == [2]


def test_tracing_ends_after_some_refusals():
    traced = []

    @ag.function(fallback="eager")
    def f(x, k):
        traced.append(k)
        return x.numpy() + k

    for k in range(20):
        f(t(1), k)
    assert traced == list(range(20)) and not f.traces
    assert len(f._fallbacks.refused) == 5 and sum(f.fallbacks.values()) == 20


def test_staged_functions_stay_staged_in_a_call_that_python_runs():
    @ag.function
    def step(x):
        return x * 2

    @ag.function
    def shown(x):
        return [complex(x).real]

    @ag.function(fallback="eager")
    def f(x):
        return shown(step(x))

    assert f(t(1)) == [2.0]
    assert len(step.traces) == 1 and shown.fallbacks and f.fallbacks
    with pytest.raises(ag.StagingError):
        shown(t(1))


def test_functions_that_can_never_be_staged():
    @ag.function(fallback="eager")
    def rows(x):
        for row in x:
            yield row * 2

    assert_equal(list(rows(t(1, 2))), [torch.tensor(2.0), torch.tensor(4.0)])
    assert "is a generator" in next(iter(rows.fallbacks))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.calls, self.seen = torch.nn.Linear(2, 2), 0, {}
        self.register_buffer("mean", torch.zeros(2))

    def forward(self, x):
        self.calls += 1
        self.mean.mul_(0.5).add_(x.mean(0))
        y = torch.nn.functional.dropout(self.layer(x))
        self.seen[str(float(y.sum()))] = y.detach().numpy().copy()
        return y


def test_training_in_python():
    def train(wrap):
        torch.manual_seed(0)
        model = Model()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)

        @wrap
        def step(x):
            optimizer.zero_grad()
            loss = model(x).pow(2).sum()
            loss.backward()
            optimizer.step()
            return loss

        losses = [step(torch.randn(3, 2)).detach() for _ in range(3)]
        return losses, list(model.state_dict().values()), model.calls, list(model.seen), torch.rand(2), plain(optimizer.state_dict())

    assert_equal(train(lambda f: ag.function(f, fallback="eager")), train(lambda f: f))


# Functions that Python calls from a graph.

SUMS = []


def summed(x):
    SUMS.append(float(x.detach().numpy().sum()))  # the line
    return torch.tanh(x) + torch.rand(())


def assert_same_effects(function, count=4):
    """Asserts that calls and gradients have the same effects staged and eager. Returns the staged function."""

    def effects(wrapped):
        SUMS.clear()
        torch.manual_seed(0)
        found = []
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            for k in range(count):
                x = torch.tensor([1.0, k], requires_grad=True)
                y = wrapped(x)
                y.sum().backward()
                found += [y, x.grad, torch.rand(2)]
        return found, list(SUMS), printed.getvalue().replace(", requires_grad=True", "")

    staged = ag.function(function, fallback="eager")
    assert_equal(effects(staged), effects(function))
    return staged


def is_partial(staged):
    """Returns whether a graph of the function calls Python."""
    return any(trace.staging.reached for trace in staged.traces)


def test_a_function_that_python_calls_from_the_graph():
    def f(x):
        x = x * torch.rand(2)
        while x.sum() < 9:
            x = summed(x) + 2 * x + torch.rand(2)
            print(x.detach())
        return x

    staged = assert_same_effects(f)
    assert is_partial(staged) and len(staged.traces) == 1
    ((reason, count),) = staged.fallbacks.items()
    assert "# the line" in reason and count > 4


def test_numbers_and_containers_from_python():
    def parts(x):
        values = x.detach().numpy()
        return {"low": float(values.min()), "n": int((values > 0).sum()), "is": bool(values[0] > 3)}, [x * 2], None

    def f(x):
        found, (y,), nothing = parts(x)
        if found["is"] or found["n"] > 1:
            y = y + found["low"]
        return y if nothing is None else x

    assert is_partial(assert_same_effects(f))


class Recorder:
    def __init__(self):
        self.found = {}

    def record(self, x, name="x"):
        self.found[name + str(float(x.sum()))] = x.detach().numpy().copy()


RECORDER = Recorder()


def test_an_object_that_only_python_changes():
    def f(x):
        y = x * 2
        RECORDER.record(y)
        RECORDER.record(y + 1, name="y")
        return y

    RECORDER.found.clear()
    assert is_partial(assert_same_effects(f))
    assert list(RECORDER.found) == [f"{n}{2 * (1 + k) + (2 if n == 'y' else 0):.1f}" for k in range(4) for n in "xy"]


@pytest.mark.parametrize("change", ["dtype", "rank", "size", "none", "argument", "view"])
def test_results_of_another_kind(change):
    def changed(x):
        SUMS.append(float(x.detach().numpy().sum()))
        print("changed", len(SUMS))
        y = x * 2 + torch.rand(())
        if len(SUMS) < 8:
            return y
        if change == "argument":
            with torch.no_grad():
                x.mul_(3)
            return y
        return {"dtype": y.double(), "rank": y[None], "size": torch.cat([y, y]), "none": None, "view": x[:]}[change]

    def f(x):
        total = x * 1
        for i in range(3):
            y = total * torch.rand(())
            print("before", i)
            z = changed(y)
            total = total + y + (0 if z is None else z.sum())
        return total

    staged = assert_same_effects(f, 6)
    assert any("ResultKindChanged" in reason for reason in staged.fallbacks)


COUNTS = {"n": 0}
WEIGHT = torch.ones(2, requires_grad=True)


def counting(x):
    COUNTS["n"] += int(x.detach().numpy().sum() > 0)
    return x * 2


def weighted(x):
    return WEIGHT * x + len(x.detach().numpy())


def written(x):
    with torch.no_grad():
        x += x.detach().numpy().sum()


def failing(x):
    if x.detach().numpy()[1] > 1:
        raise ValueError("too large")
    return x * 2


def test_functions_that_share_state_with_the_rest():
    def read(x):
        y = counting(x)
        return y + COUNTS["n"]

    def in_place(x):
        y = x * 1
        written(y)
        return y * 2

    def caught(x):
        try:
            return failing(x)
        except ValueError:
            return x

    for function in (read, in_place, caught, lambda x: weighted(x) * 2):
        COUNTS["n"] = 0
        expected = [function(t(1, k)) for k in range(4)], COUNTS["n"]
        COUNTS["n"] = 0
        staged = ag.function(function, fallback="eager")
        assert_equal(([staged(t(1, k)) for k in range(4)], COUNTS["n"]), expected)
        assert not is_partial(staged)


def test_an_exception_of_a_function_that_python_calls():
    staged = ag.function(lambda x: failing(x) + 1, fallback="eager")
    for k in (0, 0, 1):
        assert_equal(staged(t(1, k)), t(3, 2 * k + 1))
    assert is_partial(staged)
    with pytest.raises(ValueError, match="too large"):
        staged(t(1, 2))


LOG = logging.getLogger("fallback_test")


def effects_outside(path):
    """Returns functions with effects on files and processes, which the runtime cannot undo when it abandons a trace."""
    file = open(path, "a+")  # noqa: SIM115
    numbers, digest = iter([1, 2, 3]), hashlib.md5()

    def written(x):
        file.write("line\n")
        file.flush()
        return x, file.tell()

    def opened(x):
        with open(path, "a") as other:
            other.write("line\n")
        return x + len(open(path).read())

    def dumped(x):
        json.dump([1], file)
        file.flush()
        return x, file.tell()

    def saved(x):
        torch.save([1], path)
        return x.numpy()

    def printed(x):
        sys.stdout.write("line\n")
        return x

    def taken(x):
        return x + sum(numbers)

    def digested(x):
        digest.update(b"x")
        return x, digest.hexdigest()

    def warned(x):
        LOG.warning("x is %s", x)
        return x

    def caught(x):
        try:
            return x + x.numpy().sum()
        except Exception:
            return x

    def set_off(x):
        torch.set_grad_enabled(False)
        return x * 2, torch.is_grad_enabled()

    def ended(x):
        print("end")
        raise SystemExit(3)

    return [written, opened, dumped, saved, printed, taken, digested, warned, caught, set_off, ended]


@pytest.mark.parametrize("index", range(11))
def test_effects_outside(index, tmp_path):
    path = tmp_path / "a.txt"
    assert_falls_back(effects_outside(path)[index], t(1, 2), prepare=lambda: path.write_text(""))


def test_distributions_are_staged():
    @ag.function(fallback="eager")
    def f(x):
        q = torch.distributions.Normal(x, x.exp())
        z = q.rsample((2,))
        return q.log_prob(z).sum()

    def seeded(function):
        torch.manual_seed(0)
        return [function(t(1, 2)) for _ in range(2)]

    assert_equal(seeded(f), seeded(f.python_function))
    assert not f.fallbacks


def test_a_function_whose_argument_holds_values_of_the_graph():
    def program(x, n):
        q = torch.distributions.Normal(x * 2, 1.0)
        return x + described(q, n)

    def described(q, n):
        return torch.full((n,), float(q.loc.numpy().sum()))

    staged = ag.function(program, fallback="eager")
    for n in (1, 2, 1, 2, 1):
        assert_equal(staged(t(1, 2), n), program(t(1, 2), n))


@pytest.mark.parametrize("fallback", [None, "eager"])
def test_calls_of_code_that_is_not_converted_because_it_reads_its_variables(fallback):
    digest = hashlib.md5()

    @ag.function(fallback=fallback)
    def f(x):
        k = 2
        digest.update(b"x")
        return x * eval("k + 1")

    expected = hashlib.md5()
    for _ in range(3):
        if fallback is None:
            with pytest.raises(ag.StagingError, match="this calls `update` of a `HASH`"):
                f(t(1))
        else:
            expected.update(b"x")
            assert_equal(f(t(1)), t(3))
        assert digest.digest() == expected.digest()
