"""`pip install .` gives the binary: the wheel is built, and installed where nothing else is."""

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


def test_installed_binary_says_its_version(environment: Path, repository: Path):
    version = tomllib.loads((repository / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    said = subprocess.run([environment / "bin" / "ag-lsp", "version"], capture_output=True, text=True, check=True)
    assert version in said.stdout


def test_installed_binary_finds_faults(environment: Path, project: Path):
    """It brings its models of the libraries along: no TensorFlow is installed here."""
    check = [environment / "bin" / "ag-lsp", "check", "--output-format", "concise", project]
    found = subprocess.run(check, capture_output=True, text=True)
    assert found.returncode == 1, found.stderr
    assert "AG101" in found.stdout and "AG109" in found.stdout


def test_wheel_serves_every_python_three(wheel: Path):
    """The binary does not link to an interpreter."""
    assert wheel.name.split("-")[2:4] == ["py3", "none"]


def test_uninstall_leaves_nothing(environment: Path):
    subprocess.run([environment / "bin" / "pip", "uninstall", "--quiet", "--yes", "ag-lsp"], check=True)
    left = [path for path in environment.rglob("*ag*lsp*")]
    assert left == []
