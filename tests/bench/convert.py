#!/usr/bin/env python3
"""Conversion speed: ag-lsp compared with TensorFlow's and diastatic-malt's conversion of the same functions.

    tests/bench/convert.py [--binary target/release/ag-lsp] [--functions 300] [--copies 20] [--at-least RATIO]

The functions are TensorFlow's own operations and Keras's TensorFlow backend, with at least 8 lines each, sampled evenly
from the sorted list. For ag-lsp, each function is a separate file. ag-lsp converts `--copies` copies of the files, and
the startup time, measured on an empty file, is subtracted.

All times are CPU time. For TensorFlow and malt, `to_graph` is measured, which reads the source, converts it, and loads
the result. For ag-lsp, the time includes reading the files, conversion, and writing text and source map as JSON. Every
function must convert, and CPython must compile the output of ag-lsp. TensorFlow and malt are installed under `target/`.
"""

import argparse
import ast
import importlib
import inspect
import json
import logging
import pkgutil
import resource
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/conformance"))

import tensorflow_environment  # noqa: E402

PACKAGES = ("keras.src.backend.tensorflow", "tensorflow.python.ops")
MIN_LINES = 8
# The minimum of several runs is taken, because other load only adds time. TensorFlow and malt cache conversions, so they
# run once.
ROUNDS = 3


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", type=Path, default=ROOT / "target/release/ag-lsp")
    parser.add_argument("--functions", type=int, default=300)
    parser.add_argument("--copies", type=int, default=20)
    parser.add_argument("--at-least", type=float, default=0, help="fail unless ag-lsp is at least this many times faster")
    options = parser.parse_args()
    tensorflow_environment.enter()

    functions = published_functions(options.functions)
    lines = sum(source.count("\n") for _, source in functions)
    print(f"{len(functions)} functions, {lines} lines")

    rates = {
        "TensorFlow": peer_rate("tensorflow.python.autograph", functions),
        "diastatic-malt": peer_rate("malt", functions),
    }
    own_rate = lines / own_seconds(options.binary.resolve(), functions, options.copies)
    print(f"\n{'lines per CPU second':<24}{'':>10}{'ag-lsp is':>12}")
    for name, rate in rates.items():
        print(f"{name:<24}{rate:>10.0f}{own_rate / rate:>11.0f}x")
    print(f"{'ag-lsp':<24}{own_rate:>10.0f}")
    if own_rate < options.at_least * max(rates.values()):
        sys.exit(f"less than {options.at_least:.0f}x")


def published_functions(count):
    """Returns functions with their source, sampled evenly from all functions in the packages."""
    import tensorflow  # noqa: F401  (must be imported before its operations)

    found = {}
    for package in PACKAGES:
        path = importlib.import_module(package).__path__
        for name in sorted(module.name for module in pkgutil.iter_modules(path, package + ".")):
            if name.rpartition(".")[2].startswith("gen_") or name.endswith("_test"):
                continue
            try:
                module = importlib.import_module(name)
            except ImportError:
                continue
            for function in vars(module).values():
                if inspect.isfunction(function) and function.__module__ == name and not hasattr(function, "__wrapped__"):
                    source = textwrap.dedent(inspect.getsource(function))
                    if source.count("\n") >= MIN_LINES and source.startswith("def ") and convertible(function, source):
                        found[name, function.__name__] = function, source
    chosen = [found[key] for key in sorted(found)]
    assert len(chosen) >= count, f"only {len(chosen)} functions"
    return [chosen[index * len(chosen) // count] for index in range(count)]


def convertible(function, source):
    """Returns whether the function only uses constructs that AutoGraph documents as supported."""
    return not inspect.isgeneratorfunction(function) and not any(
        isinstance(node, (ast.For, ast.While)) and node.orelse or isinstance(node, (ast.Yield, ast.NamedExpr, ast.Match))
        for node in ast.walk(ast.parse(source))
    )


def peer_rate(package, functions):
    """Returns the lines per second of `to_graph`. Each function is converted once, because the converters cache
    results."""
    logging.disable(logging.ERROR)
    to_graph = importlib.import_module(package + ".impl.api").to_graph
    spent = 0.0
    lines = 0
    for function, source in functions:
        start = time.process_time()
        try:
            to_graph(function)
        except Exception as error:
            print(f"{package} could not convert {function.__module__}.{function.__name__}: {error}")
            continue
        spent += time.process_time() - start
        lines += source.count("\n")
    print(f"{package}: {lines} lines, {spent:.1f} s")
    return lines / spent


def own_seconds(binary, functions, copies):
    """Returns the CPU time for one copy of the functions, without the startup of the process."""
    with tempfile.TemporaryDirectory() as folder:
        once, many, empty = (Path(folder, name) for name in ("once", "many", "empty"))
        write(once, functions, 1)
        write(many, functions, copies)
        empty.mkdir()
        (empty / "empty.py").touch()

        entries = json.loads(convert(binary, once).stdout)
        converted = sum(entry["converted"] for entry in entries if entry["kind"] == "function")
        kept = [f"{entry['qualname']}: {entry['reason']}" for entry in entries if not entry["converted"]]
        assert not kept, kept
        assert converted >= len(functions), f"only {converted} functions in the output"
        for entry in entries:
            compile(entry["text"], entry["qualname"], "exec")

        start = min(cpu_seconds(binary, empty) for _ in range(ROUNDS))
        spent = (min(cpu_seconds(binary, many) for _ in range(ROUNDS)) - start) / copies
        print(f"ag-lsp: {len(functions)} of {len(functions)} converted, {spent * 1000:.1f} ms")
        return spent


def write(folder, functions, copies):
    for copy in range(copies):
        inside = folder / f"copy_{copy}"
        inside.mkdir(parents=True)
        for index, (function, source) in enumerate(functions):
            (inside / f"{function.__name__}_{index}.py").write_text(source)


def convert(binary, folder, output=subprocess.PIPE):
    command = [binary, "convert", folder, "--dialect", "tensorflow", "--output-format", "json", "--jobs", "1"]
    return subprocess.run(command, stdout=output, check=True)


def cpu_seconds(binary, folder):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    convert(binary, folder, subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


if __name__ == "__main__":
    main()
