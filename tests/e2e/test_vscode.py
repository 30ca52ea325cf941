"""The extension for VS Code, as far as that goes without VS Code: types, parts, package. `run --vscode` does the rest."""

import json
import subprocess
import tomllib
import zipfile
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def extension(repository: Path) -> Path:
    folder = repository / "editors" / "vscode"
    # npm says so in a file of its own when it has installed what the lock file asks for.
    installed = folder / "node_modules" / ".package-lock.json"
    wanted = folder / "package-lock.json"
    if not installed.is_file() or installed.stat().st_mtime < wanted.stat().st_mtime:
        subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=folder, check=True)
    return folder


def test_types(extension: Path):
    subprocess.run(["npm", "run", "--silent", "check"], cwd=extension, check=True)


def test_parts(extension: Path):
    subprocess.run(["npm", "run", "--silent", "test"], cwd=extension, check=True)


def test_package_holds_what_runs(extension: Path, tmp_path: Path):
    package = tmp_path / "ag-lsp.vsix"
    subprocess.run(["npm", "run", "--silent", "package", "--", "--out", package], cwd=extension, check=True)
    with zipfile.ZipFile(package) as archive:
        names = set(archive.namelist())
        manifest = json.loads(archive.read("extension/package.json"))
    for name in ["dist/extension.js", "ag-lsp.schema.json", "LICENSE.txt", "readme.md", manifest["icon"]]:
        assert f"extension/{name}" in names
    steps = [step["media"]["markdown"] for walkthrough in manifest["contributes"]["walkthroughs"] for step in walkthrough["steps"]]
    assert steps and all(f"extension/{step}" in names for step in steps)
    assert not any("node_modules" in name or name.endswith(".ts") for name in names)


def test_version_is_that_of_the_binary(extension: Path, repository: Path):
    version = tomllib.loads((repository / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    assert json.loads((extension / "package.json").read_text())["version"] == version


def test_dialects_are_those_of_the_schema(extension: Path, repository: Path):
    """What can be chosen in the settings is what the configuration knows."""
    schema = json.loads((repository / "ag-lsp.schema.json").read_text())
    known = [dialect["const"] for dialect in schema["$defs"]["Dialect"]["oneOf"]]
    properties = json.loads((extension / "package.json").read_text())["contributes"]["configuration"]["properties"]
    assert properties["ag-lsp.dialects"]["items"]["enum"] == known
