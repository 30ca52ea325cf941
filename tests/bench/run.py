"""Runs benchmarks and prints their tables: `python tests/bench/run.py [BENCHMARK...]`. The default is all of them.

Each benchmark is a script in this folder. It installs the tools for comparison, prints tables, and asserts that each
measured run did its work.
"""
import pathlib
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
BENCHMARKS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "run")


def main():
    for name in sys.argv[1:] or BENCHMARKS:
        if name not in BENCHMARKS:
            sys.exit(f"unknown benchmark `{name}`; choose from {', '.join(BENCHMARKS)}")
        print(f"## {name}\n", flush=True)
        subprocess.run([sys.executable, FOLDER / f"{name}.py"], check=True)


main()
