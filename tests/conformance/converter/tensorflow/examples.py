#!/usr/bin/env python3
"""Runs the examples of `tests/conformance/recorded/tensorflow` unconverted, converted by TensorFlow, and by ag-lsp.

    tests/conformance/converter/tensorflow/examples.py [--binary target/release/ag-lsp] [MODULE …]

Runs the `EXAMPLES` of the modules. ag-lsp must have the same outcome as TensorFlow's conversion or plain Python.
Each variant has a fresh copy of the module, because examples modify its state.
"""

import argparse
import collections
import importlib.util
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODULES = HERE.parents[1] / "recorded/tensorflow"
sys.path[:0] = [str(HERE), str(HERE.parents[1]), str(MODULES)]

import tensorflow_environment  # noqa: E402

tensorflow_environment.enter()

import tensorflow as tf  # noqa: E402
import tf_dropin  # noqa: E402
from outcomes import Outcome, Warnings  # noqa: E402

# Examples where ag-lsp's outcome differs from both TensorFlow's and plain Python's.
EXPECTED = {
    "coroutine": "a coroutine that never suspends runs to completion; TensorFlow refuses to return it",
    "factorial": "an infinite recursion: ag-lsp reports the line of the call, TensorFlow that of the `if`",
    "nonlocal_count": "a Tensor escapes the loop through `nonlocal`: an error in ag-lsp, a silently wrong number in TensorFlow",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    binary = os.environ.get("AG_LSP", HERE.parents[3] / "target/release/ag-lsp")
    parser.add_argument("--binary", default=binary, help="the ag-lsp program")
    parser.add_argument("modules", nargs="*", help="only these modules")
    options = parser.parse_args()
    warnings = Warnings.record()

    table = collections.Counter()
    for path in sorted(MODULES.glob("*.py")):
        if options.modules and path.stem not in options.modules:
            continue
        if not hasattr(imported(path), "EXAMPLES"):
            continue
        tf_dropin.uninstall()
        reference = outcomes(path, staged, warnings)
        tf_dropin.install(options.binary)
        converted = outcomes(path, staged, warnings)
        tf_dropin.uninstall()
        plain = outcomes(path, lambda module, function: function, warnings)

        row = collections.Counter()
        for key in reference:
            if converted[key].agrees(reference[key]):
                row["agree"] += 1
                continue
            verdict = "like Python" if is_better(converted[key], reference[key], plain[key]) else "differ"
            if verdict == "differ" and key[0] in EXPECTED:
                row["expected"] += 1
                continue
            row[verdict] += 1
            print(f"{path.stem}: {key[0]}, example {key[1] + 1}: {verdict}")
            for name, outcome in (("TensorFlow", reference), ("ag-lsp", converted), ("plain", plain)):
                print(f"    {name:<12}{outcome[key]}")
        print(f"{path.stem:<28}{row['agree']:>8} agree{row['like Python']:>5} like Python{row['differ']:>5} differ", flush=True)
        table += row
    print(
        f"{table['agree']} agree, {table['like Python']} like Python where TensorFlow is not, "
        f"{table['expected']} differ as expected, {table['differ']} differ"
    )
    print(f"test result: examples. {table['agree'] + table['like Python']} passed; {table['differ']} failed;")
    return 1 if table["differ"] else 0


def is_better(converted, reference, plain):
    """Returns whether ag-lsp has the outcome of plain Python and TensorFlow does not. Also returns True if only ag-lsp has
    the same error as plain Python, at the same line."""
    if converted.means(plain) and not reference.means(plain):
        return True
    return converted.has_same_error_as(plain) and not reference.has_same_error_as(plain)


def imported(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def outcomes(path, way, warnings):
    tf.keras.utils.set_random_seed(7)
    module = imported(path)
    found = {}
    for expression, examples in module.EXAMPLES.items():
        function = eval(expression, vars(module))
        function = way(module, getattr(function, "python_function", function))
        for index, example in enumerate(examples):
            arguments = example if isinstance(example, tuple) else () if isinstance(example, dict) else (example,)
            keywords = example if isinstance(example, dict) else {}
            tf.keras.utils.set_random_seed(7)
            found[expression, index] = Outcome(function, arguments, warnings, keywords)
    return found


def staged(module, function):
    feature = getattr(module, "FEATURE", None)
    features = feature and tf.autograph.experimental.Feature[feature]
    return tf.function(function, experimental_autograph_options=features)


if __name__ == "__main__":
    sys.exit(main())
