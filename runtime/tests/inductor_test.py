"""`@ag.function(compile="inductor")`: calls have the same outcomes as in eager Python, and the expected lines are
compiled."""

import copy
import os
import pickle
import subprocess
import sys
import warnings

import pytest
import torch

import autograph as ag
import programs
from autograph.export.inductor import compiled as compiled_regions
from autograph.export.inductor import eligible, regions
from oracle import assert_equal
from random_programs_test import load, run

#: The number of random programs. Each takes seconds to compile.
PROGRAMS = int(os.environ.get("INDUCTOR_PROGRAMS", "3"))


@pytest.fixture(autouse=True)
def small_regions(monkeypatch):
    """Compiles regions of any size, and fails where one is not compiled."""
    monkeypatch.setattr(regions, "MIN_ELEMENTS", 0)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="Inductor does not compile")
        yield


def staged(function, **options):
    return ag.function(function, compile="inductor", **options)


def assert_same(function, *calls):
    """Asserts that each call has the same outcome as in eager Python. Returns the staged function."""
    other = staged(function)
    for arguments in calls:
        assert_equal(run(other, copy.deepcopy(arguments)), run(function, copy.deepcopy(arguments)))
    return other


def lines(function):
    """Returns the line numbers of each region, counted from the first line of the function."""
    first = function.python_function.__code__.co_firstlineno
    return [[line - first for _, line in region.lines] for region in function.regions]


def test_region_of_a_straight_line():
    def program(a, b):
        c = a * b
        n = 3
        return (c.tanh() + n).sum(), c

    found = assert_same(program, (torch.randn(4, 5), torch.randn(5)))
    assert lines(found) == [[1, 3]]
    assert [region.variants for region in found.regions] == [1]


def test_loops_branches_and_functions_stay_in_the_graph():
    def power(x, n):
        if n > 0:
            return power((x * 1.5).sin(), n - 1)  # 2
        return x

    def program(x, n):
        total = x * 0
        while n > 0:
            total = (total + x).tanh() * 2  # 3
            if total.sum() > 0:  # 4
                total = (total - 1).relu()  # 5
            n = n - 1
        return power(total, torch.tensor(3)), total

    found = assert_same(program, *[(torch.randn(6), torch.tensor(n)) for n in (3, 0, 5)])
    listing = found.traces[0].plan.listing(lambda *_: None)
    assert "call" in listing and "python" in listing and "jump" in listing
    first = program.__code__.co_firstlineno
    assert [3, 4] in lines(found) and [5] in lines(found)
    assert [power.__code__.co_firstlineno + 2 - first] in lines(found)


def test_lists_stay_in_the_graph():
    def program(x, n):
        items = [x]
        for _ in range(n):
            y = items[-1] * 2
            items.append(y.tanh())
        return torch.stack(items), len(items)

    found = assert_same(program, *[(torch.randn(5), torch.tensor(n)) for n in (2, 0, 4)])
    assert found.regions
    assert not any("list" in operator for region in found.regions for operator in region.operators)


def test_effects_keep_their_order(capsys):
    def program(x):
        y = (x + 1).exp()
        print("first", y.sum() > 0)
        z = (y + 1).log()
        assert z.max() < 100, "large"
        return (z * 2).sqrt()

    x = torch.randn(4)
    expected, text = program(x), capsys.readouterr().out
    found = staged(program)
    assert_equal(found(x), expected)
    assert capsys.readouterr().out == text
    assert len(found.regions) == 3
    with pytest.raises(AssertionError, match="large"):
        found(torch.full((4,), 200.0))
    assert capsys.readouterr().out.startswith("first")


def test_random_numbers_are_those_of_eager_torch():
    def program(x):
        y = torch.nn.functional.dropout(x * 2 + 1, 0.5) * 3 - 1
        return y + torch.rand(4).sqrt().exp(), torch.randn(3)

    found = staged(program)
    for _ in range(3):
        x = torch.randn(4)
        torch.manual_seed(3)
        expected = program(x), torch.rand(1)
        torch.manual_seed(3)
        assert_equal((found(x), torch.rand(1)), expected)
    assert found.regions
    names = {name for region in found.regions for name in region.operators}
    assert not any(torch.Tag.nondeterministic_seeded in eligible.overload(name).tags for name in names)


def test_writes_in_place_and_views():
    def program(x, y):
        z = (x * 2).sin()
        z[1:].add_(1)
        w = z.t()
        x.mul_(z)
        y += (x + w.t()).cos()
        return w, z[0], x.view(-1)

    x, y = torch.randn(3, 4), torch.randn(3, 4)
    found = assert_same(program, (x, y), (x, y))
    view, row, _ = found(x, y)
    before = view.clone()
    row.add_(1)  # a view of the same memory, as in eager torch
    assert torch.equal(view[:, 0], before[:, 0] + 1)


def test_results_do_not_share_memory_that_eager_torch_does_not_share():
    def program(x):
        y = x * 2
        return y + 1, y.exp(), x.clone(), y.clone(), y

    x = torch.randn(5)
    results = staged(program)(x)
    assert len({result.data_ptr() for result in (*results, x)}) == 6


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.bool, torch.complex64])
def test_dtypes(dtype):
    def program(x, y):
        z = x + y
        return (z * 2 + x) + z.sum(), z != 1, torch.where(z == x, z, 1)

    make = torch.randn if dtype.is_floating_point or dtype.is_complex else torch.ones
    x = make(3, 4, dtype=dtype)
    found = staged(program)
    assert_equal(found(x, x[0]), program(x, x[0]))
    assert bool(found.regions) == (not dtype.is_complex)


def test_changes_of_sizes_strides_and_dtypes():
    def program(x, y):
        return ((x * y).tanh() + x).sum(0), (x - y).exp()

    found = staged(program)
    for shape in [(3, 4), (5, 4), (7, 4), (1, 4), (0, 4), (6, 6)]:
        for x in (torch.randn(shape), torch.randn(shape[::-1]).t(), torch.randn(shape, dtype=torch.float64)):
            y = torch.randn(shape[1]).to(x)
            assert_equal(found(x, y), program(x, y))
    assert all(region.refusals == [] for region in found.regions)
    assert max(region.variants for region in found.regions) > 1


def test_sizes_that_no_longer_fit_are_an_error_with_cached_code_too():
    """Two unknown sizes that were equal when a region was compiled may differ later."""

    def program(x, y):
        return (x * y).tanh() + 1

    for _ in range(2):  # the second function may use code that torch has cached
        found = staged(program)
        for n in (3, 5, 6):
            found(torch.randn(n, 2), torch.randn(n, 2))
        region = found.regions[-1]
        assert region.variants == 1
        x, y = torch.ones(4, 2), torch.ones(1, 2)
        assert_equal(region(x, y), (program(x, y), True))
        assert region.variants == 2
        with pytest.warns(UserWarning, match="Inductor does not compile"):
            assert region(x, torch.ones(3, 2))[-1] is False


def test_without_torchs_caches():
    def program(x):
        return (x * 3).sin() + x.mean()

    x, outcomes = torch.randn(5), []
    for enabled in (True, False, True):
        with torch._inductor.config.patch(fx_graph_cache=enabled), torch._functorch.config.patch(enable_autograd_cache=enabled):
            outcomes.append(staged(program)(x))
    assert_equal(outcomes, [program(x)] * 3)


def test_gradients_of_any_order():
    def program(x, w):
        y = x
        for _ in range(3):
            y = torch.tanh(y @ w) * 2 + x  # 3
        return (y * y).mean()

    found, both = staged(program), []
    torch.manual_seed(0)
    values = torch.randn(4, 4, dtype=torch.float64), torch.randn(4, 4, dtype=torch.float64)
    for function in (found, program):
        x, w = (value.clone().requires_grad_() for value in values)
        gradients = torch.autograd.grad(function(x, w), (x, w), create_graph=True)
        both.append((gradients, torch.autograd.grad(sum(g.square().sum() for g in gradients), (x, w))))
    assert_equal(*both)
    assert any("aten.tanh_backward.default" in region.operators for region in found.regions)


def test_training_step_with_backward_inside():
    def program(model, optimizer, x):
        optimizer.zero_grad()
        loss = (model(x) - 1).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    losses = []
    for wrap in (staged, lambda function: function):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Linear(8, 2))
        optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
        function = wrap(program)
        losses.append([function(model, optimizer, torch.ones(3, 4)).detach() for _ in range(3)] + list(model.parameters()))
    assert_equal(*losses)


def test_a_failure_is_the_exception_of_eager_torch_at_its_line():
    def program(x, n):
        y = (x + 1) * 2
        z = torch.linalg.cholesky(y) * 2 + 1
        return z, y // n, y[n]

    x = torch.eye(2) * torch.tensor([[1.0], [1.0]])
    found = staged(program)
    assert_equal(found(x, torch.tensor(1)), program(x, torch.tensor(1)))
    for arguments in ((-x * 5, torch.tensor(1)), (x, torch.tensor(7))):
        with pytest.raises(Exception) as expected:
            program(*arguments)
        with pytest.raises(type(expected.value)) as error:
            found(*arguments)
        assert error.traceback[-1].lineno == expected.traceback[1].lineno


def test_integer_divisions_and_indices_are_left_to_the_plan():
    def program(x, i):
        y = x + 1
        return (y // i) * 2 + y, (y * 2)[i.clamp(0, 1)]

    found = assert_same(program, (torch.arange(3), torch.ones(3, dtype=torch.int64)))
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        found(torch.arange(3), torch.zeros(3, dtype=torch.int64))


def test_region_that_inductor_cannot_compile_is_left_to_the_plan(monkeypatch):
    def program(x):
        return (x * 2).tanh()

    def fails(*_):
        raise NotImplementedError("an operator")

    monkeypatch.setattr(compiled_regions, "_compiled", fails)
    found, x = staged(program), torch.randn(3)
    with pytest.warns(UserWarning, match=r"Inductor does not compile a part of `program`.*an operator\n.*inductor_test.py"):
        assert_equal(found(x), program(x))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_equal(found(x), program(x))
    assert found.regions[0].refusals == ["NotImplementedError: an operator"] and found.regions[0].variants == 0


def test_more_kinds_of_inputs_than_the_limit_are_left_to_the_plan(monkeypatch):
    def program(x):
        return (x * 2).tanh()

    monkeypatch.setattr(compiled_regions, "MAX_VARIANTS", 1)
    found = staged(program)
    x = torch.randn(2, 3)
    assert_equal(found(x), program(x))
    region = found.regions[0]
    assert region(x)[-1] and region.variants == 1
    with pytest.warns(UserWarning, match="already been compiled for 1 kinds"):
        assert region(torch.randn(3, 2).t())[-1] is False
    assert region(x)[-1]


def test_autocast_modes_of_the_caller():
    def program(x, w):
        return torch.tanh(x @ w) * 2 + x.sum()

    x, w = torch.randn(4, 4), torch.randn(4, 4)
    found = staged(program)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert_equal(found(x, w), program(x, w))
    with torch.inference_mode():
        assert_equal(found(x, w), program(x, w))


def test_small_regions_are_left_to_the_plan(monkeypatch):
    def program(x):
        return (x * 2).tanh()

    monkeypatch.setattr(regions, "MIN_ELEMENTS", 98_304)
    found = staged(program)
    found(torch.randn(100))
    assert found.regions == []
    found(torch.randn(65_536))  # 65,536 elements inside
    assert [region.variants for region in found.regions] in ([], [0])
    found(torch.randn(131_072))
    assert len(found.regions) == 1 and found.regions[0].variants == 1


def test_operators_that_share_no_results_are_not_one_region():
    def program(x, y, total):
        total = total + x
        return total, (y * 2).tanh(), y + 1, (x * 3).sin()

    found = assert_same(program, (torch.randn(4), torch.randn(4), torch.randn(4)))
    assert [region.operators for region in found.regions] == [
        ["aten.mul.Tensor", "aten.tanh.default"], ["aten.mul.Tensor", "aten.sin.default"],
    ]  # fmt: skip


def test_option_is_validated_copied_and_pickled():
    with pytest.raises(ValueError, match="`compile` is 'inductor' or None, not 'tensorrt'"):
        ag.function(compile="tensorrt")
    found = copy.deepcopy(staged(_of_module))
    x = torch.randn(3)
    assert_equal(found(x), _of_module(x))
    assert len(found.regions) == 1
    assert type(pickle.loads(pickle.dumps(staged(_of_module)))) is ag.Function


def _of_module(x):
    return (x * 2).tanh()


def test_saved_graph_has_no_regions(tmp_path):
    found, x = staged(_of_module), torch.randn(3)
    found(x)
    found.save(tmp_path / "model", x)
    assert_equal(ag.load(tmp_path / "model")(x), _of_module(x))
    assert "python" not in found.graph(x)


def test_missing_compiler_is_an_error_before_the_call_runs():
    ran = []

    def program(x):
        ag.py_function(lambda: ran.append(1))
        return (x * 2).tanh()

    with torch._inductor.config.patch({"cpp.cxx": ("no-such-compiler",)}):
        with pytest.raises(ag.AutographError, match="needs a C\\+\\+ compiler, and `no-such-compiler` is not found\nhelp: install"):
            staged(program)(torch.randn(3))
        assert ran == []
        with pytest.warns(ag.FallbackWarning, match="needs a C\\+\\+ compiler"):
            staged(program, fallback="eager")(torch.randn(3))
    assert ran == [1]


def test_inductor_is_imported_only_when_it_compiles():
    text = """
import sys, torch, autograph as ag
x = torch.randn(300, 300)
program = lambda x: (x * 2).tanh() + 1
ag.function(program)(x)
ag.function(program, compile="inductor")(torch.randn(3))
assert not any(name.startswith(("torch._inductor.", "torch._dynamo.")) for name in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_random_programs(seed, tmp_path):
    module = load(tmp_path / f"inductor_{seed}.py", programs.module_text(range(seed, seed + 1)))
    function = getattr(module, f"program_{seed}")
    found = staged(function)
    torch.manual_seed(seed)
    for iterations in (3, 0):
        arguments = torch.randn(3, dtype=torch.float64), torch.randn(2, 3, dtype=torch.float64), torch.tensor(iterations)
        assert_equal(run(found, copy.deepcopy(arguments)), run(function, copy.deepcopy(arguments)))
