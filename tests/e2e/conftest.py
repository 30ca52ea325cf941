"""Fixtures of the end-to-end tests: the binary, the repository, and a copy of the project."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
TOOLS = REPOSITORY / "target" / "e2e"


@pytest.fixture(scope="session")
def repository() -> Path:
    return REPOSITORY


@pytest.fixture(scope="session")
def tools() -> Path:
    """Returns a git-ignored folder for downloads and builds."""
    TOOLS.mkdir(parents=True, exist_ok=True)
    return TOOLS


@pytest.fixture(scope="session")
def binary() -> Path:
    path = Path(os.environ.get("AG_LSP", REPOSITORY / "target" / "release" / "ag-lsp"))
    assert path.is_file(), f"{path} does not exist: build it, or set AG_LSP to another binary"
    return path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Returns a copy of `project/` that a test may change."""
    return Path(shutil.copytree(REPOSITORY / "tests" / "e2e" / "project", tmp_path / "project"))


@pytest.fixture(scope="session")
def server(binary: Path) -> Path:
    """Returns the binary. Skips the test if the binary has no subcommand `server`."""
    if subprocess.run([binary, "server", "--help"], capture_output=True).returncode != 0:
        pytest.skip(f"{binary} has no `server`")
    return binary


@pytest.fixture(scope="session")
def runtime() -> dict[str, str]:
    """Returns the environment variables with which programs find the runtime. Skips the test if it is not built."""
    package = REPOSITORY / "runtime" / "python"
    python = REPOSITORY / "target" / "torch"
    if not (python / "bin" / "python").exists() or not any((package / "autograph").glob("_runtime*")):
        pytest.skip("the runtime is not built: run `runtime/build`")
    return {"VIRTUAL_ENV": str(python), "PYTHONPATH": str(package)}


@pytest.fixture(scope="module")
def build(tools: Path, request) -> Path:
    """Returns a target folder for cargo with links to the compiled dependencies, so that a test builds the product from scratch
    without changing the existing build."""
    folder = tools / "build" / request.module.__name__
    shutil.rmtree(folder, ignore_errors=True)
    own = shutil.ignore_patterns("*ag[-_]lsp*", "*ag[-_]analysis*", "incremental")
    shutil.copytree(REPOSITORY / "target" / "release", folder / "release", copy_function=os.link, ignore=own)
    return folder


def pytest_terminal_summary(terminalreporter):
    """Prints a summary in the format of `cargo test`, so that `tests/run` can add up the results."""
    count = {name: len(terminalreporter.stats.get(name, [])) for name in ("passed", "failed", "error", "skipped")}
    failed = count["failed"] + count["error"]
    verdict = "FAILED" if failed else "ok"
    terminalreporter.write_line(
        f"test result: {verdict}. {count['passed']} passed; {failed} failed; {count['skipped']} ignored"
    )
