"""Code that no export to torch can express is refused at its line, with the same message in each format."""

from types import SimpleNamespace

import pytest
import torch

import autograph as ag
import exported
from autograph.export import results
from oracle import t

FORMATS = pytest.mark.parametrize("export", [ag.export.torchscript, ag.export.exported_program])


@FORMATS
def test_recursion(export):
    def power(x, n):
        return x * power(x, n - 1) if n > 0 else x

    message = exported.refusal(export, power, t(2.0), torch.tensor(3))
    assert "calls itself" in message and "return x * power(x, n - 1)" in message


@FORMATS
def test_calls_of_python(export):
    def program(x):
        y = ag.py_function(lambda v: v, [x], torch.float32)
        return y

    assert "y = ag.py_function(" in exported.refusal(export, program, t(1.0))


def test_the_maximum_number_of_conditions():
    """The structure of a returned value depends on at most this many conditions."""

    def returned(count):
        result = SimpleNamespace(value=lambda slots, outside: ([None if slot else slot for slot in slots], [], []))
        trace = SimpleNamespace(places=[], containers=[], result=result)
        return results.returned(trace, [(f"c{number}", "bool") for number in range(count)], [])

    assert isinstance(returned(results.MAXIMUM_CONDITIONS), results.Choice)
    with pytest.raises(results.UnsupportedResult, match=f"more than {results.MAXIMUM_CONDITIONS} conditions"):
        returned(results.MAXIMUM_CONDITIONS + 1)
