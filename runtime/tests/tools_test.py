"""`ag-lsp run` and `ag-lsp graph`, where the runtime is."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

BINARY = Path(os.environ.get("AG_LSP", Path(__file__).parents[2] / "target" / "release" / "ag-lsp"))

PROGRAM = """
import sys
import autograph as ag
import torch

@ag.function
def count(x):
    n = 0
    while x.sum() > 1:
        x = x / 2
        n += 1
    return n

@ag.function
def unused(x):
    x != 1
    return x

class Model:
    @ag.function
    def call(self, x):
        return x + 1

if __name__ == "__main__":
    print("rounds", int(count(torch.tensor(float(sys.argv[1])))))
    sys.exit(int(sys.argv[2]))
"""


@pytest.fixture
def program(tmp_path):
    if not BINARY.is_file():
        pytest.skip(f"{BINARY} is not built")
    (tmp_path / "model.py").write_text(PROGRAM)
    return tmp_path / "model.py"


def tool(command, *arguments):
    line = [BINARY, command, "--python", sys.executable, *arguments]
    return subprocess.run(line, capture_output=True, text=True)


def test_a_program_is_run_with_its_arguments(program):
    done = tool("run", program, "100", "7")
    assert (done.stdout, done.returncode) == ("rounds 7\n", 7), done.stderr


def test_the_graph_of_a_function_is_shown(program, tmp_path):
    done = tool("graph", f"{program}::count", "--input", "x=f32[]")
    assert done.returncode == 0, done.stderr
    assert "= while(" in done.stdout and 'argument "x"' in done.stdout
    assert "aten.ne.Scalar" not in tool("graph", f"{program}::unused", "--input", "x=f32[]", "--passes", "dead").stdout
    assert tool("graph", f"{program}::count", "--input", "x=f32[]", "--passes", "fast").returncode == 2
    drawing = tmp_path / "call.svg"
    done = tool("graph", f"{program}::Model.call", "--input", "x=f32[2]", "--output-format", "svg", "-o", drawing)
    assert done.returncode == 0 and "<svg" in drawing.read_text(), done.stderr


@pytest.mark.parametrize(
    "function, inputs, message",
    [
        ("missing", [], "there is no `missing` in"),
        ("count", [], "no `--input` for x"),
        ("count", ["x"], "`x` is no NAME=VALUE"),
        ("count", ["x=f32[two]"], "`f32[two]` is neither the type of a tensor nor a Python literal"),
    ],
)
def test_what_is_wrong_is_said(program, function, inputs, message):
    given = [word for text in inputs for word in ("--input", text)]
    done = tool("graph", f"{program}::{function}", *given)
    assert done.returncode == 2 and message in done.stderr, done.stderr
