"""The layers of the package `autograph`: the package satisfies the import contracts in `runtime/pyproject.toml`, and a
forbidden import violates them."""

import os
import pathlib
import shutil
import subprocess
import sys

import autograph as ag

CONTRACTS = pathlib.Path(__file__).parents[1] / "pyproject.toml"
PACKAGE = pathlib.Path(ag.__file__).parent


def lint(parent):
    """Checks the contracts for the package in a folder, also for imports inside functions. Returns the finished process."""
    command = (
        "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(sys.argv[1], no_cache=True))"
    )
    return subprocess.run(
        [sys.executable, "-c", command, CONTRACTS],
        cwd=parent, env={**os.environ, "PYTHONPATH": str(parent)}, capture_output=True, text=True,
    )  # fmt: skip


def with_import(folder, module, statement):
    """Copies the package to a folder, and adds a function with an import statement to a module of the copy. Returns the
    folder."""
    shutil.copytree(PACKAGE, folder / "autograph", ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    with open(folder / "autograph" / module, "a", encoding="utf-8") as file:
        file.write(f"\n\ndef added():\n    {statement}\n")
    return folder


def test_layers_import_lower_layers_only():
    result = lint(PACKAGE.parent)
    assert result.returncode == 0, result.stdout + result.stderr


def test_an_import_of_a_higher_layer_is_an_error(tmp_path):
    result = lint(with_import(tmp_path, "capture/views.py", "from ..operators import specs"))
    assert result.returncode == 1 and "capture is not allowed to import autograph.operators" in result.stdout


def test_a_cycle_inside_a_layer_is_an_error(tmp_path):
    result = lint(with_import(tmp_path, "capture/views.py", "from .staging import current"))
    assert result.returncode == 1 and ".views -> .staging" in result.stdout
