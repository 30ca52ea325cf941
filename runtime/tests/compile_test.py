"""`ag.compile`: functions as shared libraries, called through ctypes, are compared with eager Python."""

import ctypes
import os
import re
import subprocess
import sys

import pytest
import torch

import autograph as ag
import programs
from oracle import assert_equal
from random_programs_test import load, run
from saved_test import halve
from torch.utils import _pytree as pytree

DTYPES = {"float32": torch.float32, "float64": torch.float64, "int32": torch.int32, "int64": torch.int64, "bool": torch.bool}
NUMBERS = {"int": torch.int64, "float": torch.float64, "bool": torch.bool}
_VALUE = re.compile(r"^ \* (\w+)( \(written\))?: (?:`(.*)`, )?(?:(not used)|(int|bool|float)\b|(\w+) \[([\d, ]*)\])", re.MULTILINE)


class Library:
    """A compiled function. The types of its arguments and results are read from its header."""

    def __init__(self, path):
        self.name = path.stem
        self.header = path.with_suffix(".h").read_text()
        self._library = ctypes.CDLL(str(path))
        getattr(self._library, f"{self.name}_error").restype = ctypes.c_char_p
        values = [match.groups() for match in _VALUE.finditer(self.header)]
        self.arguments = [name for name, written, *_ in values if not written]
        #: Path -> an empty tensor for the result.
        self.results = {path or name: self._empty(*type) for name, written, path, *type in values if written}

    def _empty(self, unused, number, dtype, sizes):
        if number:
            return torch.zeros((), dtype=NUMBERS[number])
        return torch.zeros([int(size) for size in sizes.split(",") if size.strip()], dtype=DTYPES[dtype])

    def __call__(self, *arguments):
        """Returns the results: tensors, and numbers as tensors without dimensions. Keeps the arguments alive until the end."""
        assert len(arguments) == len(self.arguments), self.header
        arguments = [argument.contiguous() for argument in arguments]
        results = [torch.empty_like(result) for result in self.results.values()]
        tables = [(ctypes.c_void_p * len(table))(*(t.data_ptr() for t in table)) for table in (arguments, results)]
        if getattr(self._library, f"{self.name}_run")(*tables) != 0:
            raise RuntimeError(getattr(self._library, f"{self.name}_error")().decode())
        return results


@pytest.fixture
def compiled(tmp_path):
    """Returns a function that compiles a function for these arguments."""
    names = (f"function_{number}" for number in range(10**6))

    def compile(function, *arguments):
        path = tmp_path / f"{next(names)}.so"
        ag.compile(function, arguments, path)
        return Library(path)

    return compile


def test_a_compiled_function_returns_the_results_of_eager_python(compiled):
    library = compiled(halve, torch.ones(3), torch.tensor(1.0))
    assert library.arguments == ["x", "limit"]
    for x in (torch.tensor([9.0, 4, 3]), torch.tensor([-9.0, 4, 3]), torch.tensor([0.1, 0, 0])):
        value, rounds = library(x, torch.tensor(2.0))
        expected, expected_rounds = halve.python_function(x, 2.0)
        assert_equal((value, rounds.item()), (expected.detach(), expected_rounds))


def test_results_are_named_after_their_paths(compiled):
    def statistics(batch):
        x, weights = batch["x"], batch["weights"]
        total = (x * weights).sum(1)
        best = total.argmax()
        return {"total": total, "best": (best, total[best] > 0), "half": total.double() / 2, "rows": 4, "note": None}

    batch = {"x": torch.randn(4, 3), "weights": torch.rand(3)}
    library = compiled(statistics, batch)
    assert library.arguments == ["batch_x", "batch_weights"]
    assert list(library.results) == [
        "result['total']", "result['best'][0]", "result['best'][1]", "result['half']", "result['rows']"
    ]  # fmt: skip
    expected = statistics(batch)
    tensors = [expected["total"], *expected["best"], expected["half"], torch.tensor(4)]
    assert_equal(library(batch["x"], batch["weights"]), tensors)


def test_gradients_are_compiled(compiled):
    def descend(w, x, y):
        for _ in range(20):
            w = w.detach().requires_grad_()
            loss = ((torch.tanh(x @ w) - y) ** 2).mean()
            (gradient,) = torch.autograd.grad(loss, w)
            w = w - 0.3 * gradient
        return w, loss

    arguments = torch.randn(4), torch.randn(8, 4), torch.randn(8)
    assert_equal(compiled(descend, *arguments)(*arguments), [t.detach() for t in descend(*arguments)])


def test_large_tensors_and_slow_functions_need_no_libtorch(compiled):
    """Above the limits of the native tier, staged functions call libtorch."""

    def activations(x, w):
        return torch.log1p(torch.exp(x @ w)).sum(0), torch.sin(x).sum()

    arguments = torch.randn(300, 500), torch.randn(500, 400) / 20
    for found, expected in zip(compiled(activations, *arguments)(*arguments), activations(*arguments)):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_the_path_that_returns_may_depend_on_the_arguments(compiled):
    def clipped(x, limit):
        size = x.norm()
        if size <= limit:
            return x, False, 0
        return x * (limit / size), True, 1

    def positive(x):
        if x.sum() > 0:
            return x, 1

    library = compiled(clipped, torch.ones(3), torch.tensor(1.0))
    for size in (0.5, 2.0):
        x = torch.full((3,), size)
        found, expected = library(x, torch.tensor(1.0)), clipped(x, torch.tensor(1.0))
        assert_equal([found[0], bool(found[1]), int(found[2])], list(expected))
    library = compiled(positive, torch.ones(3))
    assert_equal(library(torch.ones(3)), [torch.ones(3), torch.tensor(1)])
    with pytest.raises(RuntimeError, match="the function returns None here"):
        library(-torch.ones(3))


def test_an_exception_of_the_function_is_an_error_of_the_call(compiled):
    def root(x):
        if x.min() < 0:
            raise ValueError("negative number")
        assert x.max() < 100, "too large"
        return x.sqrt()

    library = compiled(root, torch.ones(3))
    assert_equal(library(torch.tensor([4.0, 9, 16])), [torch.tensor([2.0, 3, 4])])
    line = root.__code__.co_firstlineno + 2
    with pytest.raises(RuntimeError, match=rf"compile_test.py:{line}: ValueError: negative number"):
        library(torch.tensor([4.0, -9, 16]))
    with pytest.raises(RuntimeError, match=rf"compile_test.py:{line + 1}: AssertionError: too large"):
        library(torch.tensor([4.0, 900, 16]))


def test_an_error_at_run_time_names_the_line(compiled):
    def item(x, index):
        return x[index.item()] * 2

    library = compiled(item, torch.ones(3), torch.tensor(1))
    assert_equal(library(torch.arange(3.0), torch.tensor(-1)), [torch.tensor(4.0)])
    line = item.__code__.co_firstlineno + 1
    with pytest.raises(RuntimeError, match=rf"compile_test.py:{line}: .*index is out of range"):
        library(torch.arange(3.0), torch.tensor(3))


counts = {"calls": 0}


def test_what_needs_torch_or_python_is_refused_at_its_line(compiled):
    def convolved(x):
        y = x * 2
        return torch.nn.functional.conv1d(y, x)

    def counted(x):
        counts["calls"] += 1
        return x + 1

    def written(x):
        x.add_(1)
        return x * 2

    def sampled(x):
        return torch.rand_like(x)

    x = torch.ones(1, 1, 3)
    for function, message in {
        convolved: "convolution.* needs libtorch",
        counted: "it changes ",
        written: "it changes its arguments",
        sampled: "rand_like.* needs libtorch",
    }.items():
        with pytest.raises(ag.ExportError, match=message) as error:
            compiled(function, x)
        assert __file__ in str(error.value)
    assert convolved.__code__.co_firstlineno + 2 == pytest.raises(ag.ExportError, compiled, convolved, x).value.span[1]


def test_the_name_of_the_file_is_the_name_of_the_function(tmp_path):
    ag.compile(torch.tanh, (torch.ones(3),), tmp_path / "libsquash.so.1")
    assert "int squash_run(" in (tmp_path / "squash.h").read_text()
    with pytest.raises(ValueError, match="C identifier"):
        ag.compile(torch.tanh, (torch.ones(3),), tmp_path / "not-a-name.so")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["libsquash.so.1", "squash.h"]


def test_a_library_runs_without_torch(tmp_path):
    """A process without torch calls the function on several threads."""
    ag.compile(halve, (torch.ones(3), torch.tensor(1.0)), tmp_path / "halve.so")
    script = """
import ctypes, sys, threading
library = ctypes.CDLL(sys.argv[1])
def call():
    x, limit = (ctypes.c_float * 3)(9, 4, 3), ctypes.c_float(2)
    value, rounds = (ctypes.c_float * 2)(), ctypes.c_int64()
    addresses = [(ctypes.c_void_p * 2)(*map(ctypes.addressof, pair)) for pair in ((x, limit), (value, rounds))]
    for _ in range(1000):
        assert library.halve_run(*addresses) == 0
        found.add((*value, rounds.value))
found = set()
threads = [threading.Thread(target=call) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert "torch" not in sys.modules and not any("libtorch" in line for line in open("/proc/self/maps"))
print(*found)
"""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "halve.so"], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    (*value, rounds) = eval(done.stdout)
    expected, expected_rounds = halve.python_function(torch.tensor([9.0, 4, 3]), 2.0)
    assert rounds == expected_rounds
    assert_equal(torch.tensor(value), expected.detach())


@pytest.mark.parametrize("seeds", [range(start, start + 25) for start in range(0, 100, 25)], ids=str)
def test_random_programs(tmp_path, seeds):
    """Programs with loops, branches, lists and numbers. Programs that write to their arguments are refused."""
    compiled = 0
    for seed in seeds:
        module = load(tmp_path / f"program_{seed}.py", "import torch\n" + programs.Program(seed).text("function"))
        torch.manual_seed(seed)
        first = torch.randn(3), torch.randn(2, 3), torch.tensor(3)
        path = tmp_path / f"compiled_{seed}.so"
        try:
            ag.compile(module.function, first, path)
        except (ag.ExportError, ag.StagingError):
            continue
        library = Library(path)
        compiled += 1
        for iterations in (3, 0):
            arguments = torch.randn(3), torch.randn(2, 3), torch.tensor(iterations)
            outcome = run(module.function, arguments)
            by_name = dict(zip(("a", "m", "n"), arguments))
            given = [by_name[name] for name in library.arguments]
            if outcome[0] == "raised":
                pytest.raises(RuntimeError, library, *given)
                continue
            expected = [torch.as_tensor(leaf) for leaf in pytree.tree_leaves(outcome[1])]
            found = library(*given)
            assert len(found) == len(expected), seed
            for one, other in zip(found, expected):
                torch.testing.assert_close(one, other.to(one.dtype), rtol=1e-4, atol=1e-4, equal_nan=True, msg=f"seed {seed}")
    assert compiled > 0
