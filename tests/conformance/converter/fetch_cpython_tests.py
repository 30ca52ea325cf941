"""Gets CPython's tests for interpreters without them: `python fetch_cpython_tests.py FOLDER`.

Debian has a separate package for them (libpythonX.Y-testsuite). The script downloads it with apt, unpacks it without
installing it, and merges it with the interpreter's `test` package. FOLDER then goes in front of the module path.
"""

import pathlib
import shutil
import subprocess
import sys
import sysconfig
import tempfile


def fetch(folder):
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    with tempfile.TemporaryDirectory() as download:
        subprocess.run(["apt-get", "download", f"libpython{version}-testsuite"], cwd=download, check=True)
        (package,) = pathlib.Path(download).glob("*.deb")
        subprocess.run(["dpkg", "-x", str(package), download], check=True)
        shutil.copytree(pathlib.Path(sysconfig.get_paths()["stdlib"], "test"), folder / "test", dirs_exist_ok=True)
        shutil.copytree(pathlib.Path(download, f"usr/lib/python{version}/test"), folder / "test", dirs_exist_ok=True)


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1]).resolve()
    if not (target / "test" / "test_heapq.py").exists():
        fetch(target)
