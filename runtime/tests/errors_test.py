"""What is wrong is said at the user's line, with no frame of the package's inside."""

import re
import traceback

import pytest
import torch

import autograph as ag
from oracle import t


def staging_error(function, *args):
    with pytest.raises(ag.StagingError) as caught:
        ag.function(function)(*args)
    return str(caught.value)


def test_place_of_an_error():
    def f(x):
        y = x + 1
        return y.numpy() + 2  # here

    message = staging_error(f, t(1))
    assert "# here" in message and re.search(r'errors_test.py", line \d+', message)
    assert message.splitlines()[-1].strip() == "^^^^^^^^^"


def test_python_condition_in_library_code():
    @ag.do_not_convert
    def unconverted(x):
        return 1 if x.sum() > 0 else 2

    def f(x):
        return unconverted(x)  # the call

    assert "# the call" in staging_error(f, t(1))


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


def test_unknown_condition_shape():
    def f(x):
        if x > 0:
            x = x + 1
        return x

    assert "neither true nor false" in staging_error(f, t(1, 2))


def test_kinds_name_variable_and_types():
    def f(x):
        s = "text"
        if x.sum() > 0:
            s = x
        return s

    message = staging_error(f, t(1))
    assert "`s`" in message and "'text'" in message and "float32" in message


def test_try_around_a_staged_raise():
    def f(x):
        try:
            if x.sum() > 0:
                raise ValueError("positive")
        except ValueError:
            x = x * 2
        return x

    assert "`try` around it cannot catch it" in staging_error(f, t(1))


def test_a_call_that_nothing_ends():
    def f(x, n):
        return f(x * 2, n - 1)

    assert "does not come to an end" in staging_error(f, t(1), torch.tensor(2))


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
    """It is not called again when the graph raises."""

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


def test_stand_ins_are_called_tensors():
    with pytest.raises(AttributeError, match="'Tensor' object has no attribute 'missing'"):
        ag.function(lambda x: x.missing)(t(1))
