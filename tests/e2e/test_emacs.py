"""Emacs with Eglot from Debian: a client with push diagnostics and UTF-16 positions."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCENARIO = Path(__file__).parent / "emacs" / "eglot.el"


def test_eglot(server: Path, project: Path):
    if shutil.which("emacs") is None:
        pytest.skip("Emacs is not installed: run `apt-get install emacs-nox elpa-eglot` as root")
    environment = os.environ | {"AG_LSP": str(server), "HOME": str(project.parent), "LC_ALL": "C.UTF-8"}
    emacs = ["emacs", "--batch", "-l", str(SCENARIO)]
    run = subprocess.run(emacs, cwd=project, env=environment, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "all is well" in run.stderr
