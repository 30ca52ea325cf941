"""Converts all files of a folder: `python scale.py [--jobs N] [FOLDER…]`. The default is the standard library.

Each file is converted as a whole, and each of its functions, methods and lambdas separately. CPython must compile every
converted text. Functions may only stay unconverted if the converter reports a reason.
"""

import argparse
import ast
import collections
import pathlib
import sys
import sysconfig
import textwrap
import time
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import converter


def readable(path):
    """Returns the text of a file, or None if CPython does not compile it."""
    try:
        data = path.read_bytes()
        compile(data, str(path), "exec", dont_inherit=True)
        return data.decode("utf-8")
    except (SyntaxError, ValueError, UnicodeDecodeError, RecursionError):
        return None


def own_functions(text):
    return sum(isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) for n in ast.walk(ast.parse(text)))


def check(path, text, counts, failures):
    """Converts a file as a whole and function by function. Appends failures to `failures`."""
    try:
        whole = converter.run([str(path), "--operators", converter.OPERATORS["tensorflow"]])
        compile(whole, str(path), "exec", dont_inherit=True)
    except (converter.ConverterFailed, SyntaxError, ValueError, RecursionError) as error:
        failures.append((str(path), "<file>", f"{type(error).__name__}: {error}"))
    try:
        entries = converter.functions(path)
    except (converter.ConverterFailed, ValueError) as error:
        failures.append((str(path), "<json>", f"{type(error).__name__}: {error}"))
        return
    counts["functions"] += len(entries)
    expected = own_functions(text)
    if len(entries) != expected:
        failures.append((str(path), "<json>", f"{len(entries)} entries for {expected} functions"))
    for entry in entries:
        if not entry["converted"]:
            counts[f"left: {entry['reason']}"] += 1
            continue
        counts["converted"] += 1
        try:
            compile(textwrap.dedent(entry["text"]), entry["qualname"], "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError) as error:
            # Outside its scope, a function lacks bindings for nonlocal names. The loader adds them.
            if "no binding for nonlocal" in str(error):
                counts["with free nonlocal names"] += 1
                continue
            failures.append((str(path), f"{entry['qualname']}:{entry['line']}", f"{type(error).__name__}: {error}"))


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("folders", nargs="*", type=pathlib.Path)
    options.add_argument("--show", type=int, default=20)
    given = options.parse_args()
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(20_000)
    start, counts, failures, files, skipped = time.monotonic(), collections.Counter(), [], 0, 0
    for folder in given.folders or [pathlib.Path(sysconfig.get_paths()["stdlib"])]:
        for path in sorted(folder.rglob("*.py")) if folder.is_dir() else [folder]:
            if "site-packages" in path.relative_to(folder).parts:
                continue
            text = readable(path)
            if text is None:
                skipped += 1
                continue
            files += 1
            check(path, text, counts, failures)
    kinds = collections.Counter(error.split("(")[0][:90] for _, _, error in failures)
    for error, n in kinds.most_common(20):
        print(f"{n:6} x {error}")
    for path, name, error in failures[: given.show]:
        print(f"{path}::{name}\n    {error[:400]}")
    for name, n in sorted(counts.items()):
        print(f"{name}: {n}")
    print(f"{files} files ({skipped} not readable by this CPython), {len(failures)} failures; {time.monotonic() - start:.0f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
