"""Code that no export to torch can express is refused at its line, with the same message in each format."""

import pytest
import torch

import autograph as ag
import exported
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
