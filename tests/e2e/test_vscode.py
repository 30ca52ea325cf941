"""Tests of the VS Code extension without VS Code: types, unit tests, package, settings. See also `run --vscode`."""

import json
import shutil
import stat
import subprocess
import tomllib
import zipfile
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def extension(repository: Path) -> Path:
    folder = repository / "editors" / "vscode"
    # npm writes this file after a complete installation.
    installed = folder / "node_modules" / ".package-lock.json"
    wanted = folder / "package-lock.json"
    if not installed.is_file() or installed.stat().st_mtime < wanted.stat().st_mtime:
        subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=folder, check=True)
    return folder


def test_types(extension: Path):
    subprocess.run(["npm", "run", "--silent", "check"], cwd=extension, check=True)


def test_units(extension: Path):
    subprocess.run(["npm", "run", "--silent", "test"], cwd=extension, check=True)


def test_package_contents(extension: Path, tmp_path: Path):
    package = tmp_path / "ag-lsp.vsix"
    subprocess.run(["npm", "run", "--silent", "package", "--", "--out", package], cwd=extension, check=True)
    with zipfile.ZipFile(package) as archive:
        names = set(archive.namelist())
        manifest = json.loads(archive.read("extension/package.json"))
    for name in ["dist/extension.js", "ag-lsp.schema.json", "LICENSE.txt", "readme.md", manifest["icon"]]:
        assert f"extension/{name}" in names
    [walkthrough] = manifest["contributes"]["walkthroughs"]
    for step in walkthrough["steps"]:
        assert f"extension/{step['media']['markdown']}" in names
    assert not any("node_modules" in name or name.endswith(".ts") for name in names)


def test_package_of_a_platform_holds_the_binary(extension: Path, binary: Path, tmp_path: Path):
    """Builds the package as `.github/workflows/release.yml` does."""
    bundled = extension / "bundled" / "ag-lsp"
    bundled.parent.mkdir()
    try:
        shutil.copy(binary, bundled)
        package = tmp_path / "ag-lsp.vsix"
        make = ["npm", "run", "--silent", "package", "--", "--target", "linux-x64", "--out", package]
        subprocess.run(make, cwd=extension, check=True)
    finally:
        shutil.rmtree(bundled.parent)
    with zipfile.ZipFile(package) as archive:
        held = archive.getinfo("extension/bundled/ag-lsp")
        manifest = archive.read("extension.vsixmanifest").decode()
    assert held.file_size == binary.stat().st_size
    assert held.external_attr >> 16 & stat.S_IXUSR, "it can be executed"
    assert 'TargetPlatform="linux-x64"' in manifest


def test_version_equals_that_of_the_binary(extension: Path, repository: Path):
    version = tomllib.loads((repository / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    assert json.loads((extension / "package.json").read_text())["version"] == version


def settings(extension: Path) -> dict[str, dict]:
    """Returns the settings of the server, by name without the section."""
    properties = json.loads((extension / "package.json").read_text())["contributes"]["configuration"]["properties"]
    named = {name.removeprefix("ag-lsp."): given for name, given in properties.items()}
    of_client = {"path", "trace.server"}
    return {name: given for name, given in named.items() if name not in of_client}


def error_messages(server: Path, folder: Path, options: dict) -> list[str]:
    """Returns the messages that the server shows to the user when it is started with these options."""
    shown = []
    with subprocess.Popen([server, "server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:

        def send(**message):
            body = json.dumps({"jsonrpc": "2.0"} | message).encode()
            process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            process.stdin.flush()

        def ask(number: int, method: str, **params):
            send(id=number, method=method, params=params)
            while True:
                length = int(process.stdout.readline().removeprefix(b"Content-Length: "))
                process.stdout.readline()
                message = json.loads(process.stdout.read(length))
                if message.get("method") == "window/showMessage":
                    shown.append(message["params"]["message"])
                if message.get("id") == number and "method" not in message:
                    assert "error" not in message, message
                    return

        ask(1, "initialize", processId=None, rootUri=folder.as_uri(), capabilities={}, initializationOptions=options)
        send(method="initialized", params={})
        # A response can overtake at most one preceding message.
        ask(2, "ag-lsp/status")
        ask(3, "ag-lsp/status")
        send(id=4, method="shutdown")
        send(method="exit")
    return shown


def nested(name: str, value) -> dict:
    """Nests the setting `a.b` as `{"a": {"b": value}}`, as VS Code sends it."""
    for part in reversed(name.split(".")):
        value = {part: value}
    return value


def test_defaults_are_valid(extension: Path, server: Path, project: Path):
    for name, given in settings(extension).items():
        assert error_messages(server, project, nested(name, given["default"])) == [], name


def test_server_knows_every_setting(extension: Path, server: Path, project: Path):
    """The server ignores unknown keys and rejects invalid values, so an invalid value tests whether it knows the key."""
    for name in settings(extension):
        assert error_messages(server, project, nested(name, {"no": "such value"})) != [], name


def test_dialects_are_those_of_the_schema(extension: Path, repository: Path):
    """The dialects in the settings equal those of the configuration schema."""
    schema = json.loads((repository / "ag-lsp.schema.json").read_text())
    known = [dialect["const"] for dialect in schema["$defs"]["Dialect"]["oneOf"]]
    properties = json.loads((extension / "package.json").read_text())["contributes"]["configuration"]["properties"]
    assert properties["ag-lsp.dialects"]["items"]["enum"] == known
