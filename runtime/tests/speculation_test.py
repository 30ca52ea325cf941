"""`@ag.function(speculate=True)`: the first three calls run in Python and are profiled. The graph assumes that
everything that was the same in these calls stays the same. If a call contradicts an assumption, its run of the graph
has no effect, Python runs the call, and the assumption is relaxed."""

import copy
import pickle
import random
import re
import warnings

import numpy as np
import pytest
import torch

import autograph as ag
from oracle import assert_equal, outcome, t

pytestmark = pytest.mark.filterwarnings("ignore::autograph.FallbackWarning")


@pytest.fixture(autouse=True)
def deterministic_kernels():
    ag.use_deterministic_kernels(True)
    yield
    ag.use_deterministic_kernels(False)


def speculative(function, *calls, **options):
    """Calls a function three times with each of these arguments, and once more to trace it. Returns the staged function."""
    staged = ag.function(function, speculate=True, **options)
    for _ in range(4):
        for args in calls:
            assert_equal(outcome(staged, copy.deepcopy(args)), outcome(function, copy.deepcopy(args)))
    return staged


def check(staged, *calls):
    """Asserts that calls agree with eager Python."""
    for args in calls:
        expected = outcome(staged.python_function, copy.deepcopy(args))
        assert_equal(outcome(staged, copy.deepcopy(args)), expected)


def operations(staged, *args):
    """Returns the names of the operations of the graph, without the prefix `aten.`."""
    return re.findall(r"(?m)^ *(?:%.* = )?(?:aten\.)?(\w+)[.(\s]", staged.graph(*args))


def failed(staged):
    """Returns the texts of the assumptions that calls have contradicted."""
    return [entry.text for entry in staged.speculation if entry.failures]


# Assumptions.


def test_a_condition_that_is_always_true_is_not_in_the_graph():
    def f(x):
        if x.sum() > 0:
            return x * 2
        return torch.erfinv(x)

    staged = speculative(f, (t(1, 2),))
    assert operations(staged, t(1, 2)).count("assert") == 1 and not {"if", "erfinv"} & {*operations(staged, t(1, 2))}
    check(staged, (t(3, 4),), (t(-0.5, 0),))
    assert failed(staged) == ["the condition is True"]
    assert "erfinv" in operations(staged, t(1, 2))  # relaxed: both branches are staged
    check(staged, (t(-0.5, 0),), (t(1, 2),))
    assert failed(staged) == ["the condition is True"] and sum(staged.fallbacks.values()) == 1


def test_a_loop_is_unrolled():
    def f(x):
        steps = 0
        while x.sum() < 10:
            x = x * 2
            steps += 1
        return x, steps

    staged = speculative(f, (t(1, 2),))
    assert "while" not in operations(staged, t(1, 2)) and operations(staged, t(1, 2)).count("assert") == 3
    check(staged, (t(1.1, 2),), (t(0.1, 2),), (t(0.1, 2),), (t(20, 1),), (t(1, 2),))
    assert failed(staged) == ["the number of iterations is 2"]
    assert "while" in operations(staged, t(1, 2))


def test_a_range_of_a_tensor_is_unrolled():
    def f(x, n):
        total = x
        for i in range(n):
            total = total + x * i
        return total

    staged = speculative(f, (t(1, 2), torch.tensor(3)))
    assert "for" not in operations(staged, t(1, 2), torch.tensor(3))
    check(staged, (t(1, 2), torch.tensor(3)), *[(t(1, 2), torch.tensor(n)) for n in (4, 0, 3, 50)])
    assert failed(staged) == ["the number of iterations is 3"]


def test_a_loop_that_ends_early():
    def f(x, limit):
        for i in range(20):
            x = x + 1
            if x.sum() > limit:
                break
        return x, i

    staged = speculative(f, (t(1, 2), t(8)))
    assert not {"if", "for"} & {*operations(staged, t(1, 2), t(8))}
    check(staged, *[(t(1, 2), t(limit)) for limit in (8, 8.5, 11, 8, 900, 2)])


def test_outcomes_that_differ_but_are_the_same_in_each_call():
    def f(x):
        found = []
        for row in x:
            if row > 0:
                found.append(row)
        return found  # the length is known, because each condition is known

    staged = speculative(f, (t(1, -1, 2, 3, -2),))
    assert "if" not in operations(staged, t(1, -1, 2, 3, -2))
    check(staged, (t(5, -1, 2, 3, -9),))
    assert not failed(staged)
    check(staged, (t(1, 1, 1, 1, 1),), (t(1, 1, 1, 1, -1),), (t(1, -1, 2, 3, -2),))
    assert failed(staged) == ["the condition is True, False, True, True, False in each call"]


def test_an_integer_is_a_constant():
    def f(x, n):
        k = int(n)
        return x[:k], [0] * n.item()

    staged = speculative(f, (t(1, 2, 3), torch.tensor(2)))
    assert "[2]" in staged.graph(t(1, 2, 3), torch.tensor(2))
    check(staged, (t(4, 5, 6), torch.tensor(2)), (t(4, 5, 6), torch.tensor(1)))
    assert failed(staged) == ["the number is 2"]


def test_operands_of_and_and_or():
    def f(x):
        a = x.sum() > 0 and x.max() < 5
        b = x.sum() < 0 or x.max() > 3
        return (x + 1 if a else x - 1), bool(b)

    staged = speculative(f, (t(1, 2),))
    check(staged, *[(t(*pair),) for pair in ((1, 2), (7, 1), (-3, 1), (1, 4), (1, 2), (-1, -1))])
    assert {"the first operand is True", "the first operand is False"} <= {*failed(staged)}


def test_conditions_in_loops_and_methods_of_other_objects():
    class Meter:
        def __init__(self):
            self.best = None

        def update(self, x):
            if self.best is None or x > self.best:
                self.best = x
            return self.best

    def run(wrap):
        meter = Meter()
        f = wrap(lambda x: meter.update(x.sum()) * 1)
        return [f(t(n)) for n in (1, 2, 3, 4, 5, 0, 1, 7)]

    assert_equal(run(lambda f: ag.function(f, speculate=True)), run(lambda f: f))


# Arguments.


def test_a_number_that_varies_is_an_input():
    def f(x, rate):
        return x - rate * x.sin()

    staged = ag.function(f, speculate=True)
    for n in range(10):
        assert_equal(staged(t(1, 2), n * 0.1), f(t(1, 2), n * 0.1))
    assert len(staged.traces) == 1 and not failed(staged)


def test_a_number_that_starts_to_vary():
    def f(x, rate):
        return x * rate

    staged = speculative(f, (t(1, 2), 0.5))
    check(staged, *[(t(1, 2), n * 0.3) for n in range(6)])
    assert failed(staged) == ["`rate` is 0.5"] and len(staged.traces) == 2


def test_a_number_that_has_to_be_known():
    def f(x, name):
        return x * {1: 2.0, 2: 3.0, 3: 4.0}[name].as_integer_ratio()[0]

    staged = ag.function(f, speculate=True)
    check(staged, *[(t(1, 2), n) for n in (1, 2, 3, 1, 2, 3, 1, 2, 3)])
    assert not sum(staged.fallbacks.values())


def test_shapes():
    staged = speculative(lambda x: x.sum() * x.shape[0], (t(1, 2, 3),))
    check(staged, *[(torch.ones(n),) for n in (3, 4, 4, 5, 6, 7)])
    assert failed(staged) == ["the shape of `x` is [3]"] and len(staged.traces) == 2


def test_shapes_that_vary_from_the_beginning():
    staged = ag.function(lambda x: x.sum() * x.shape[0], speculate=True)
    check(staged, *[(torch.ones(n),) for n in (3, 4, 5, 6, 7, 8)])
    assert len(staged.traces) == 1 and not failed(staged)


def test_types():
    staged = speculative(lambda x: x * 2, (t(1, 2),))
    check(staged, (t(1, 2).double(),), (t(1, 2).double(),), (t(1, 2).int(),), (None,), (t(1, 2),))
    assert failed(staged) == ["the type of `x` is float32"]


def test_attributes():
    class Config:
        def __init__(self):
            self.rate, self.steps = 0.1, 0

    def run(wrap):
        config = Config()

        def f(x):
            config.steps += 1
            return x * config.rate + config.steps

        f, found = wrap(f), []
        for n in range(10):
            if n == 6:
                config.rate = 0.5
            found.append(f(t(1, 2)))
        return found, config.steps, f

    *found, staged = run(lambda f: ag.function(f, speculate=True))
    *expected, _ = run(lambda f: f)
    assert_equal(found, expected)
    assert failed(staged) == ["`Config.rate` is the same number in each call"] and len(staged.traces) == 2


# A run that contradicts an assumption changes nothing.


def test_writes_and_state():
    def make():
        state = {"n": 0, "last": None}

        def f(x):
            x.mul_(2)
            state["n"] += 1
            if x.sum() > 100:
                x.zero_()
            state["last"] = x.sum().item()
            return x + 1

        return f, state

    results = []
    for wrap in (lambda f: f, lambda f: ag.function(f, speculate=True)):
        f, state = make()
        f, x, found = wrap(f), t(1, 2), []
        for _ in range(9):
            found.append((f(x).clone(), x.clone(), dict(state)))
        results.append(found)
    assert_equal(*results)


def test_random_numbers():
    def f(x):
        noise = torch.rand(2) + random.random() + np.random.rand()
        if x.sum() > 0:
            noise = noise * 2
        return x + noise + torch.rand(2)

    found = []
    for function in (f, ag.function(f, speculate=True)):
        torch.manual_seed(1), random.seed(1), np.random.seed(1)
        results = [function(x) for x in [t(1, 2)] * 5 + [t(-1, -2)] * 3 + [t(1, 2)]]
        found.append((results, torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()))
    assert_equal(*found)


def test_output_comes_after_the_checks(capsys):
    def f(x):
        if x.sum() > 0:
            x = x + 1
        print("x:", x.tolist())
        if x.sum() > 10:  # not assumed, because a run that contradicts it would already have printed
            x = x - 10
        return x

    calls = [t(1, 2)] * 5 + [t(-1, -2), t(20, 20)] * 2 + [t(1, 2)]
    expected = [f(x) for x in calls], capsys.readouterr().out
    staged = ag.function(f, speculate=True)
    assert_equal(([staged(x) for x in calls], capsys.readouterr().out), expected)
    assert failed(staged) == ["the condition is True"] and "if" in operations(staged, t(1, 2))


def test_output_in_a_loop(capsys):
    def f(x, n):
        for i in range(n):
            if x.sum() > 0:  # the second iteration follows the output of the first
                x = x - 1
            print(i)
        return x

    calls = [(t(5, 5), torch.tensor(20))] * 5 + [(t(1, 1), torch.tensor(3)), (t(9, 9), torch.tensor(0))] * 3
    expected = [f(*args) for args in calls], capsys.readouterr().out
    staged = ag.function(f, speculate=True)
    assert_equal(([staged(*args) for args in calls], capsys.readouterr().out), expected)


def test_calls_of_python():
    def make():
        seen = []

        def f(x):
            ag.py_function(lambda v: seen.append(v.tolist()), [x])
            if x.sum() > 0:
                x = x * 2
            return x

        return f, seen

    calls, results = [t(1, 2)] * 5 + [t(-1, -2)] * 2 + [t(1, 2)], []
    for wrap in (lambda f: f, lambda f: ag.function(f, speculate=True)):
        f, seen = make()
        f = wrap(f)
        results.append(([f(x) for x in calls], seen))
    assert_equal(*results)


def test_an_exception_of_python():
    def f(x):
        if (x < 0).any():
            raise ValueError(f"negative: {x.tolist()}")
        return x.sqrt()

    staged = speculative(f, (t(1, 4),))
    assert "raise" not in operations(staged, t(1, 4))
    check(staged, (t(1, -4),), (t(1, -4),), (t(1, 4),))


# Gradients.


def test_gradients():
    def f(x):
        y = x * x
        while y.sum() < 100:
            y = y * y
        if y.max() > 300:
            y = y.sqrt()
        return y.sum()

    def inside(x):
        return torch.autograd.grad(f(x), x)[0]

    for function, compute in ((f, lambda g, x: torch.autograd.grad(g(x), x)[0]), (inside, lambda g, x: g(x))):
        staged = ag.function(function, speculate=True)
        for numbers in [(2, 3)] * 5 + [(1.2, 2), (30, 1)] * 3 + [(2, 3)]:
            x = t(*numbers).requires_grad_()
            assert_equal(compute(staged, x), compute(function, x))


def test_a_training_step():
    def run(wrap):
        torch.manual_seed(0)
        model, losses = torch.nn.Linear(3, 1), []
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)

        def step(x, y):
            optimizer.zero_grad()
            loss = ((model(x) - y) ** 2).mean()
            loss.backward()
            if loss > 2:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            optimizer.step()
            return loss.detach()

        step = wrap(step)
        for n in range(12):
            x = torch.randn(4, 3) * (9 if n in (6, 9) else 1)
            losses.append(step(x, x.sum(1, keepdim=True)))
        return losses, [p.detach() for p in model.parameters()]

    assert_equal(run(lambda f: ag.function(f, speculate=True)), run(lambda f: f))


# Options.


def test_each_contradicted_assumption_is_reported_once_with_its_line():
    def f(x):
        if x.sum() > 0:  # the line
            return x
        return -x

    staged = speculative(f, (t(1, 2),))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        staged(t(-1))
        staged(t(-1, 1))
        staged(t(-1, -1))
        staged(t(-1, -1))
    messages = [str(w.message) for w in found if w.category is ag.FallbackWarning]
    assert len(messages) == 2  # the shape, the condition
    assert "# the line" in messages[1] and "speculation_test.py" in messages[1] and found[0].filename == __file__
    (entry,) = [entry for entry in staged.speculation if entry.file is not None]
    assert entry.file == __file__ and entry.line == f.__code__.co_firstlineno + 1
    assert (entry.state, entry.failures) == ("relaxed", 1)


def test_functions_that_it_calls_are_profiled_too():
    @ag.function
    def inner(x):
        return x * 2 if x.sum() > 0 else torch.erfinv(x)

    staged = ag.function(lambda x: inner(x) + 1, speculate=True)
    for _ in range(4):
        staged(t(1, 2))
    assert "erfinv" not in operations(staged, t(1, 2)) and not inner.traces


def test_with_a_fallback():
    def f(x):
        y = torch.from_numpy(np.sort(x.numpy())) if x.sum() > 0 else x * 2
        return y + 1

    staged = speculative(f, (t(-1, -2),), fallback="eager")
    assert not sum(staged.fallbacks.values()) and len(staged.traces) == 1
    check(staged, (t(2, 1),), (t(2, 1),), (t(-1, -2),))


@pytest.mark.parametrize("fallback", [None, "eager"])
def test_a_tensor_of_another_dtype_on_one_path(fallback):
    """The dtype of `kept[0]` depends on the branch that a call takes, or on whether its loop iterates. A graph cannot
    represent that."""
    kept = [torch.zeros(2)]

    def below_a_condition(x):
        torch.rand(1)
        if x.sum() > 0:
            kept[0] = x * 1
        return kept[0] + 1

    def in_a_loop(x):
        torch.rand(1)
        for _ in range(x.sum().int()):
            kept[0] = x * 1
        return kept[0] + 1

    for f in (below_a_condition, in_a_loop):
        kept[0] = torch.zeros(2)
        staged = speculative(f, (t(1, 2),), (t(-1, -2),), fallback=fallback)
        for x in (t(1, 2).double(), t(-1, -2), t(1, 2), t(-1, -2).double(), t(1, 2)):
            before = kept[0]
            expected, after = f(x), kept[0]
            kept[0] = before
            assert_equal((staged(x), kept[0]), (expected, after))


def test_in_shadow_mode():
    def f(x):
        if x.sum() > 0:
            return x * 2
        return x - 1

    staged = speculative(f, (t(1, 2),), verify=True)
    check(staged, (t(-1, -2),), (t(1, 2),), (t(-1, -2),))


def test_a_saved_function_assumes_nothing(tmp_path):
    def f(x):
        return x * 2 if x.sum() > 0 else x - 1

    staged = speculative(f, (t(1, 2),))
    staged.save(tmp_path / "model", t(1, 2))
    assert_equal(ag.load(tmp_path / "model")(t(-1, -2)), f(t(-1, -2)))


def test_an_assumption_that_is_needed():
    """The type of the result depends on the condition, so the condition is always decided. After three calls that
    contradict the decision, Python runs all calls."""

    def f(x):
        return {"positive": x} if x.sum() > 0 else x

    staged = speculative(f, (t(1, 2),))
    check(staged, *[(t(1, 2),), (t(-1, -2),)] * 6)
    assert sum(entry.failures for entry in staged.speculation) <= 4


def test_copies_keep_the_option():
    staged = copy.deepcopy(ag.function(lambda x: x, speculate=True))
    for _ in range(4):
        staged(t(1))
    assert staged.speculation
    assert pickle.loads(pickle.dumps(_importable)) is _importable


@ag.function(speculate=True)
def _importable(x):
    return x


def test_a_generator_is_refused():
    with pytest.raises(ag.StagingError, match="generator"):

        @ag.function(speculate=True)
        def f(x):
            yield x
