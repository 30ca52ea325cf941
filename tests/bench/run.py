"""Runs the benches and prints their tables: `python tests/bench/run.py [BENCH...]`, all of them by default.

A bench is a script in this folder. It installs what it compares with, prints tables, and asserts that what it
measured has done its work.
"""
import pathlib
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
BENCHES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "run")


def main():
    for name in sys.argv[1:] or BENCHES:
        if name not in BENCHES:
            sys.exit(f"no bench `{name}`; there are {', '.join(BENCHES)}")
        print(f"## {name}\n", flush=True)
        subprocess.run([sys.executable, FOLDER / f"{name}.py"], check=True)


main()
