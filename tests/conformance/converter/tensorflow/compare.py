#!/usr/bin/env python3
"""Runs every function of this folder as plain Python, converted by TensorFlow, and converted by ag-lsp.

    tests/conformance/converter/tensorflow/compare.py [--binary target/release/ag-lsp] [--verbose] [TOPIC …]

ag-lsp's outcome must equal TensorFlow's: the same values, or the same error at the same lines of the user's code. For
functions marked with `@deviates`, TensorFlow's outcome must differ from plain Python's, and ag-lsp's must not. The exit
status is 1 if any function differs.
"""

import argparse
import collections
import importlib
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

import tensorflow_environment  # noqa: E402

tensorflow_environment.enter()

import cases  # noqa: E402
import tensorflow as tf  # noqa: E402
import tf_dropin  # noqa: E402
from outcomes import Outcome, Warnings  # noqa: E402

MACHINERY = ("cases", "compare", "examples", "outcomes")
AGREES, LIKE_PYTHON, DIFFERS = "agree", "like Python", "differ"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    binary = os.environ.get("AG_LSP", HERE.parents[3] / "target/release/ag-lsp")
    parser.add_argument("--binary", default=binary, help="the ag-lsp program")
    parser.add_argument("--verbose", action="store_true", help="print the outcome of every function")
    parser.add_argument("topics", nargs="*", help="only these modules of the folder")
    options = parser.parse_args()

    topics = options.topics or sorted(path.stem for path in HERE.glob("*.py") if path.stem not in MACHINERY)
    warnings = Warnings.record()
    table = collections.Counter()
    print(f"{'topic':<20}{'functions':>10}{AGREES:>8}{LIKE_PYTHON:>12}{DIFFERS:>8}")
    for topic in topics:
        first = len(cases.CASES)
        importlib.import_module(topic)
        verdicts = {}
        for case in cases.CASES[first:]:
            worst = verdicts.setdefault(case.function, AGREES)
            verdict = judge(case, options, warnings)
            verdicts[case.function] = max(worst, verdict, key=[AGREES, LIKE_PYTHON, DIFFERS].index)
        row = collections.Counter(verdicts.values())
        for function in verdicts:
            if function in cases.DEVIATIONS and verdicts[function] == AGREES:
                row[AGREES] -= 1
                row[DIFFERS] += 1
                print(f"{topic}.{function.__name__}: TensorFlow behaves like Python, so this is not a deviation")
        print(f"{topic:<20}{len(verdicts):>10}{row[AGREES]:>8}{row[LIKE_PYTHON]:>12}{row[DIFFERS]:>8}")
        table += row
    print(f"{table[AGREES]} agree, {table[LIKE_PYTHON]} agree with Python where TensorFlow does not, {table[DIFFERS]} differ")
    print(f"test result: functions. {table[AGREES] + table[LIKE_PYTHON]} passed; {table[DIFFERS]} failed;")
    return 1 if table[DIFFERS] else 0


def judge(case, options, warnings):
    """Runs a function as plain Python, converted by TensorFlow, and converted by ag-lsp. Returns the verdict."""
    tf_dropin.uninstall()
    reference = Outcome(staged(case.function), case.fresh_arguments(), warnings)
    tf_dropin.install(options.binary)
    converted = Outcome(staged(case.function), case.fresh_arguments(), warnings)
    tf_dropin.uninstall()
    plain = Outcome(case.function, case.fresh_arguments(), warnings)

    name = case.function.__name__
    if case.function in cases.KEPT:
        verdict = AGREES if converted.means(plain) and converted.unconverted == (f"<function {name}",) else DIFFERS
    elif converted.agrees(reference):
        verdict = AGREES
    elif case.function in cases.DEVIATIONS and converted.means(plain) and not reference.means(plain):
        verdict = LIKE_PYTHON
    else:
        verdict = DIFFERS
    if options.verbose or verdict == DIFFERS:
        print(f"{case.function.__module__}.{name}: {verdict}")
        for way, outcome in (("TensorFlow", reference), ("ag-lsp", converted), ("plain", plain)):
            print(f"    {way:<12}{outcome}")
    return verdict


def staged(function):
    return tf.function(function, autograph=True, experimental_autograph_options=cases.FEATURES.get(function))


if __name__ == "__main__":
    sys.exit(main())
