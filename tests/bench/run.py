"""Runs the benches and prints their tables: `python tests/bench/run.py [BENCH...]`, all of them by default.

A bench is a file in this folder with a function `bench()`, which prints tables and asserts that what it measured
has done its work.
"""
import importlib
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
BENCHES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "run")


def main():
    names = sys.argv[1:] or BENCHES
    for name in names:
        if name not in BENCHES:
            sys.exit(f"no bench `{name}`; there are {', '.join(BENCHES)}")
        importlib.import_module(name).bench()


main()
