"""Builds the wheel and installs it into an empty environment, as `pip install .` does."""

import subprocess
import tomllib
import venv
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def wheel(repository: Path, build: Path, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    command = ["maturin", "build", "--release", "--target-dir", build, "--out", out]
    subprocess.run(command, cwd=repository, check=True)
    [wheel] = out.glob("ag_lsp-*.whl")
    return wheel


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    subprocess.run([folder / "bin" / "pip", "install", "--quiet", "--no-index", wheel], check=True)
    return folder


def test_installed_binary_prints_its_version(environment: Path, repository: Path):
    version = tomllib.loads((repository / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    result = subprocess.run([environment / "bin" / "ag-lsp", "version"], capture_output=True, text=True, check=True)
    assert version in result.stdout


def test_installed_binary_has_findings(environment: Path, project: Path):
    """The binary contains the library models, so TensorFlow need not be installed."""
    check = [environment / "bin" / "ag-lsp", "check", "--output-format", "concise", project]
    found = subprocess.run(check, capture_output=True, text=True)
    assert found.returncode == 1, found.stderr
    assert "AG101" in found.stdout and "AG109" in found.stdout


def test_wheel_supports_every_python_3(wheel: Path):
    """The binary does not link to libpython."""
    assert wheel.name.split("-")[2:4] == ["py3", "none"]


def test_uninstall_leaves_nothing(environment: Path):
    subprocess.run([environment / "bin" / "pip", "uninstall", "--quiet", "--yes", "ag-lsp"], check=True)
    left = [path for path in environment.rglob("*ag*lsp*")]
    assert left == []
