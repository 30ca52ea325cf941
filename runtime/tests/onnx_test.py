"""Runs `onnx_checks.py` in an environment that also has onnx, onnxscript and onnxruntime. The environment is target/onnx;
it is updated when `onnx_requirements.txt` changes."""

import os
import pathlib
import subprocess
import sys
import sysconfig

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
REQUIREMENTS = HERE / "onnx_requirements.txt"


def environment():
    """Returns the interpreter of the environment. It imports torch from the environment of this process."""
    folder = ROOT / "target/onnx"
    python, installed = folder / "bin/python", folder / REQUIREMENTS.name
    if not python.exists():
        run([sys.executable, "-m", "venv", folder])
    packages = run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]).stdout.strip()
    (pathlib.Path(packages) / "runtime.pth").write_text(sysconfig.get_path("purelib"))
    if not installed.exists() or installed.read_text() != REQUIREMENTS.read_text():
        run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", REQUIREMENTS])
        installed.write_text(REQUIREMENTS.read_text())
    return python


def run(command, **settings):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, **settings)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def test_onnx():
    paths = [str(ROOT / "runtime/python"), *filter(None, [os.environ.get("PYTHONPATH")])]
    variables = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    run([environment(), "-m", "pytest", "-q", "-p", "no:cacheprovider", "onnx_checks.py"], cwd=HERE, env=variables)
