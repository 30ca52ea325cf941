"""A virtual environment with pinned versions of TensorFlow in `target/`. It is created on first use."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ENVIRONMENT = ROOT / "target/tensorflow"
REQUIREMENTS = HERE / "tensorflow-requirements.txt"


def enter():
    """Restarts the script with the environment's Python, unless it already runs there."""
    if Path(sys.prefix) == ENVIRONMENT:
        return
    python = create()
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    os.execve(python, [str(python), *sys.argv], {**os.environ, **quiet})


def create():
    """Returns the environment's Python."""
    python = ENVIRONMENT / "bin/python"
    installed = ENVIRONMENT / REQUIREMENTS.name
    if not installed.exists() or installed.read_text() != REQUIREMENTS.read_text():
        subprocess.run([sys.executable, "-m", "venv", "--clear", ENVIRONMENT], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "-r", REQUIREMENTS], check=True)
        shutil.copy(REQUIREMENTS, installed)
    return python
