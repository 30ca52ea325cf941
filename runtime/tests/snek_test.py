"""The programs of the Snek paper: its decorators, and code that `--dialect snek` has converted, in Python and staged."""

import importlib.util
import itertools
import math
import os
import subprocess
from pathlib import Path

import pytest
import torch

import autograph as ag
from autograph import _runtime
from oracle import assert_equal, t

BINARY = Path(os.environ.get("AG_LSP", Path(__file__).parents[2] / "target" / "release" / "ag-lsp"))

# Section 5: decorators.


@ag.lms
def run(x):
    def power(n, k):
        if k == 0:
            return 1
        else:
            return n * power(n, k - 1)

    return power(x, 2)


@ag.lms
def aggregate(x):
    ret = 0
    while x > 0:
        ret = ret + x
        x = x - 1
    return ret


@ag.rep_fun
def power(x, n):
    if n == 0:
        return 1
    else:
        ret = power(x, n - 1)
        return x * ret


def test_lms_runs_in_python():
    assert (run(10), aggregate(10), power(2, 10)) == (100, 55, 1024)
    assert "ag__.while_stmt" in ag.to_code(aggregate)


def test_stage_makes_numbers_inputs_of_the_graph():
    staged = ag.stage(lambda x: aggregate(x))
    assert [staged(n) for n in (10, 0, 3)] == [55, 0, 6]
    assert type(staged(10)) is int and type(staged(2.5)) is float
    assert "while(" in staged.graph(10)
    assert len(staged._functions) == 1


def test_a_known_exponent_is_unrolled():
    """In figure 6, the base is staged and the exponent is not."""
    staged = ag.stage(run)
    assert staged(10) == 100
    assert staged.graph(10).count("scalar.mul") == 2 and "if(" not in staged.graph(10)


def test_rep_fun_is_a_function_of_the_graph():
    staged = ag.stage(power)
    assert [staged(2, n) for n in (0, 5, 10)] == [1, 32, 1024]
    assert "func @power" in staged.graph(2, 3)
    assert staged(torch.tensor(3.0), 2) == torch.tensor(9.0)


def test_stage_of_tensors_and_objects():
    @ag.stage
    def scaled(x, n=2, *, name="x"):
        return x * n if name == "x" else x

    assert_equal(scaled(t(1.0, 2.0)), t(2.0, 4.0))
    assert_equal(scaled(t(1.0, 2.0), 3, name="x"), t(3.0, 6.0))
    assert_equal(scaled(t(1.0, 2.0), n=0.5, name="y"), t(1.0, 2.0))
    assert scaled(2**70) == 2**71


def test_staged_functions_call_each_other():
    inner = ag.stage(aggregate)
    outer = ag.stage(lambda x: inner(x) + inner(x + 1))
    assert outer(3) == 6 + 10
    with_function = ag.function(lambda x: inner(x))
    assert_equal(with_function(torch.tensor(4)), torch.tensor(10))


def test_gradients():
    w = t(3.0).requires_grad_()
    ag.stage(power)(w, 3).backward()
    assert_equal(w.grad, t(27.0))


# Section 5.3: S-expressions.


def test_graphs_are_s_expressions():
    graph = ag.stage(aggregate)._lifted((10,), {})[0].trace(torch.tensor(10)).graph
    text = graph.sexpr()
    assert text.startswith("(graph 1") and "(while " in text and "(lambda (" in text
    again = _runtime.Graph.from_sexpr(text)
    assert again.sexpr() == text
    assert again.compile([], {}).run([torch.tensor(10)]) == (55,)
    with pytest.raises(ValueError, match="line 1: unsupported format version"):
        _runtime.Graph.from_sexpr(text.replace("(graph 1", "(graph 9"))


# Section 3: virtualized code. Each function is called with numbers in Python, and with staged numbers.

PROGRAMS = '''
def sign(x):
    if x > 0:
        return 1
    while x < -1:
        x = x / 2
    return x

def example_if(x):
    if x >= 0:
        return x
    else:
        x = x + 1
    return x * 2

def example_while(x):
    while x > 0:
        if x == 3:
            return x
        x = x - 1
    return x

def staged_while(n):
    x = 0
    while x < n:
        x = x + 1
    return x

def break_continue(n):
    total = 0
    for i in (1, 2, 3, 4, 5):
        if i == n:
            continue
        if total > n:
            break
        total = total + i
    else:
        total = -total
    return total

def ternary(x):
    return (x if x > 0 else -x) + (1 if not x > 1 and x > -1 else 0)

def chained(x):
    return 1 if 0 < x < 3 or x == -2 else 2

def nested(x):
    def half(y):
        if y > 2:
            return y / 2
        return y
    if x > 0:
        if x > 1:
            y = half(x)
        else:
            y = x
    else:
        y = half(-x)
    return y

def in_with(x):
    class Context:
        def __enter__(self):
            return self
        def __exit__(self, *error):
            return True
    with Context():
        if x > 0:
            return x
        x = x - 1
    return x

def of_a_list(x):
    values = []
    for y in (x, x + 1, x + 2):
        values.append(y * 2)
    return values[0] + values[-1]

def fibonacci(n):
    a, b = 0, 1
    while n > 0:
        a, b, n = b, a + b, n - 1
    return a

def unbound(x):
    if x > 0:
        y = x
    return y
'''
CALLS = [name for name in (line[4 : line.index("(")] for line in PROGRAMS.splitlines() if line.startswith("def "))]


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    """Returns the programs as two modules: as written, and converted to Snek's operators."""
    if not BINARY.is_file():
        pytest.skip(f"{BINARY} is not built")
    folder = tmp_path_factory.mktemp("snek")
    (folder / "programs.py").write_text(PROGRAMS)
    command = [BINARY, "convert", "--dialect", "snek", folder / "programs.py"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "from autograph.operators.snek import *" in text
    (folder / "virtualized.py").write_text(text)
    return [imported(folder / f"{name}.py") for name in ("programs", "virtualized")]


def imported(path):
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def outcome(function, *args):
    try:
        return function(*args)
    except NameError as error:
        return type(error).__name__


@pytest.mark.parametrize("name", CALLS)
def test_virtualized_code_in_python(modules, name):
    plain, virtualized = (getattr(module, name) for module in modules)
    for x in (-3, -2, -1, 0, 1, 2, 3, 7):
        expected, found = outcome(plain, x), outcome(virtualized, x)
        assert found == expected or isinstance(expected, str) and isinstance(found, str), (x, found, expected)


@pytest.mark.parametrize("name", CALLS)
def test_virtualized_code_staged(modules, name):
    plain, virtualized = (getattr(module, name) for module in modules)
    staged = ag.stage(virtualized)
    for kind, x in itertools.product((int, float), (-3, -2, -1, 0, 1, 2, 3, 7)):
        expected, found = outcome(plain, kind(x)), outcome(staged, kind(x))
        assert isinstance(expected, str) and isinstance(found, str) or math.isclose(found, expected), (x, found, expected)
    if name not in ("in_with", "of_a_list"):
        assert any(word in staged.graph(3) for word in ("if(", "while(", "for(")), staged.graph(3)


def test_virtualized_code_with_tensors_has_gradients(modules):
    plain, virtualized = (module.nested for module in modules)
    for value in (3.0, 0.5, -3.0):
        x, y = t(value).requires_grad_(), t(value).requires_grad_()
        ag.function(virtualized)(x).backward()
        plain(y).backward()
        assert_equal(x.grad, y.grad)


def test_a_return_in_a_handwritten_loop_is_refused():
    from autograph.operators.snek import NonLocalReturnValue, _return, _while

    def found(n):
        try:
            _while(lambda: n > 0, lambda: _return(n))
        except NonLocalReturnValue as result:
            return result.value
        return 0

    assert found(3) == 3
    with pytest.raises(ag.StagingError, match="a staged loop cannot return"):
        ag.function(found)(torch.tensor(3))
