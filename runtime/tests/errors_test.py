"""Errors name the user's line, and the traceback contains no frames of the package below the call."""

import contextlib
import re
import runpy
import traceback

import pytest
import torch

import autograph as ag
from oracle import assert_equal, assert_same, refusal, t


def test_an_error_has_the_line_of_the_user():
    def f(x):
        y = x + 1
        return y.numpy() + 2  # here

    message = refusal(f, t(1))
    assert "# here" in message and re.search(r'errors_test.py", line \d+', message)
    assert message.splitlines()[-1].strip() == "^^^^^^^^^"


def test_equal_functions_in_two_files(tmp_path):
    """Code objects with the same text at the same line are equal."""
    for name in ("first.py", "second.py"):
        path = tmp_path / name
        path.write_text("def f(x):\n    return x.numpy() + 2\n")
        namespace = runpy.run_path(str(path))
        assert name in refusal(namespace["f"], t(1))


def test_python_condition_in_library_code():
    @ag.do_not_convert
    def unconverted(x):
        return 1 if x.sum() > 0 else 2

    def f(x):
        ag.py_function(int, [], int)  # conditions after a call of Python cannot be decided while tracing
        while x < 9:
            x = x + unconverted(x)  # the call
        return x

    assert "# the call" in refusal(f, t(1))


def test_traceback_has_the_users_lines():
    def inner(x):
        return x @ torch.ones(5, 3)  # inner line

    def f(x):
        if x.sum() > 0:
            x = inner(x)  # outer line
        return x

    with pytest.raises(RuntimeError) as caught:
        ag.function(f)(t(1, 2))
    lines = [entry.line for entry in traceback.extract_tb(caught.value.__traceback__)]
    assert any("# outer line" in line for line in lines) and "# inner line" in lines[-1]
    assert not any("ag__" in line for line in lines)


@pytest.mark.parametrize("x", [t(1, 2), t(1)])
def test_traceback_has_the_users_frames_alone(x):
    @ag.function
    def f(x):
        if x.sum() > 2:
            raise ValueError("too large")
        return x + complex(x) if len(x) == 1 else x

    with pytest.raises(Exception) as caught:
        f(x)
    assert {entry.filename for entry in traceback.extract_tb(caught.value.__traceback__)} == {__file__}


def test_unknown_condition_shape():
    def f(x):
        if x > 0:
            x = x + 1
        return x

    assert "neither true nor false" in refusal(f, t(1, 2))


def test_an_error_names_the_variable_and_its_types():
    def f(x):
        ag.py_function(int, [], int)
        while x < 9:
            s = "text"
            if x.sum() > 0:
                s = x
            x = x + (1 if s is None else 2)
        return x

    message = refusal(f, t(1))
    assert "`s`" in message and "'text'" in message and "float32" in message


@pytest.mark.parametrize(
    "error",
    [
        lambda x: ValueError(f"sum {x.sum()}", x, 3),
        lambda x: KeyError(("a", x)),
        lambda x: ValueError("none", None, [x, f"{x}"], {"k": x}),
        lambda x: ValueError(),
    ],
)
def test_arguments_of_an_exception(error):
    def f(x):
        if x.sum() > 0:
            raise error(x)
        return x

    assert_same(f, (t(1, 2),), (t(-1, 2),), (t(-1, -2),))
    with pytest.raises(type(error(t()))) as caught:
        ag.function(f)(t(1, 2))
    assert_equal(caught.value.args, error(t(1, 2)).args)


def test_try_around_a_staged_raise():
    def f(x):
        ag.py_function(int, [], int)
        while x < 9:
            try:
                if x.sum() > 0:
                    raise ValueError("positive")
            except ValueError:
                x = x * 2
            x = x + 1
        return x

    assert "`try` around it cannot catch it" in refusal(f, t(1))


def test_endless_recursion():
    def f(x, n):
        return f(x * 2, n - 1)

    assert "does not terminate" in refusal(f, t(1), torch.tensor(2))


def test_a_missing_key_or_index_on_a_path_that_is_not_taken():
    def missing(x):
        table, items = {"n": x}, [x]
        if x.sum() > 2:
            y = items[0]
        elif x.sum() > 0:
            y = table["p"]
        else:
            y = items[3]
        return y * 2

    assert_same(missing, (t(1, 2),), (t(0, 1),), (t(-1, 0),), (t(3, 1),))


def test_own_exception_with_staged_arguments():
    class Own(Exception):
        pass

    def f(x):
        if x.sum() > 0:
            raise Own("sum", x.sum().item(), 3)
        return x

    with pytest.raises(Own) as caught:
        ag.function(f)(t(1, 2))
    assert caught.value.args == ("sum", 3.0, 3)
    assert any("raise Own" in entry.line for entry in traceback.extract_tb(caught.value.__traceback__))


def test_exception_with_an_init_of_its_own():
    """When the graph raises the exception, it does not call `__init__` again."""

    class Own(Exception):
        def __init__(self, value, code):
            super().__init__(f"value {value:.1f}")
            self.value, self.code = value, code

    def f(x):
        if x.sum() > 0:
            raise Own(x.sum().item(), 3)
        return x

    with pytest.raises(Own, match="value 3.0") as caught:
        ag.function(f)(t(1, 2))
    assert (caught.value.value, caught.value.code) == (3.0, 3)


def test_assertion_without_a_message():
    def f(x):
        assert x.sum() > 0
        return x

    with pytest.raises(AssertionError) as caught:
        ag.function(f)(t(-1))
    assert caught.value.args == ()


def test_errors_call_staged_values_tensors():
    with pytest.raises(AttributeError, match="'Tensor' object has no attribute 'missing'"):
        ag.function(lambda x: x.missing)(t(1))


class Own(torch.Tensor):
    pass


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: torch.ones(2).as_subclass(Own), "class `Own`"),
        (lambda: torch.eye(2).to_sparse(), "layout torch.sparse_coo"),
        (lambda: torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8), "quantized"),
    ],
)
def test_tensors_that_a_graph_cannot_hold(make, message):
    assert message in refusal(lambda x: x + 1, make())


def test_generator_of_random_numbers():
    """Python runs a call that uses a generator of the function, but there is no graph of it."""
    with pytest.raises(ag.StagingError, match="the staged function creates, or that a library holds"):
        ag.function(lambda x: torch.randn(2, generator=torch.Generator())).graph(t(1))


def test_gradient_of_an_operator_without_a_derivative():
    """Whether the gradient is computed outside or inside the graph, the error names the line of the operator."""

    def f(x):
        return torch.histc(x, 2) * x  # no derivative

    def inside(x):
        return torch.autograd.grad(f(x).sum(), x)

    x = torch.ones(2, requires_grad=True)
    for run in (lambda: ag.function(f)(x).sum().backward(), lambda: ag.function(inside)(x)):
        with pytest.raises(ag.StagingError, match="(?s)no derivative: aten.histc.*# no derivative"):
            run()


class Swallow:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return True


@contextlib.contextmanager
def silent():
    try:
        yield
    except Exception:
        pass


def _bare(x):
    try:
        return x + x.numpy().sum()
    except:  # noqa: E722
        return x


def _nested(x):
    try:
        try:
            y = x.numpy().sum()
        except (ValueError, Exception):
            y = 0
        finally:
            x = x + 1
    except ag.StagingError:
        return x
    return x + y


def _another(x):
    try:
        return x + x.numpy().sum()
    except Exception:
        raise ValueError("no number") from None


def _finally(x):
    try:
        x = x + x.numpy().sum()
    finally:
        return x  # noqa: B012


def _with(manager):
    def f(x):
        with manager():
            x = x + x.numpy().sum()
        return x

    return f


CATCHING = [
    _bare, _nested, _another, _finally, _with(Swallow), _with(silent), _with(lambda: contextlib.suppress(Exception)),
]  # fmt: skip


@pytest.mark.parametrize("f", CATCHING)
def test_an_error_of_the_trace_that_the_users_code_catches_ends_it(f):
    assert "`numpy()` needs the data" in refusal(f, t(1, 2))


def test_a_loop_that_is_tried_as_a_loop_of_the_graph_first():
    """The runtime stages the loop first, and unrolls it if staging raises. A `try` around the loop does not catch this first
    error."""

    def f(x):
        names = "abcdefghijklmnopqrstuvwxyz"
        try:
            for i in range(20):
                x = x + ord(names[i])
        except ValueError:
            pass
        return x

    assert_same(f, (t(1, 2),))
