"""Runs CPython's tests on converted modules: `python stdlib.py [MODULE TEST_MODULE]`. The default is all of `MODULES`.

Converts a module or package of the running CPython and puts it before the standard library on the module path. Runs
CPython's test module with the original and the converted module. Each test must have the same result.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import converter

HERE = pathlib.Path(__file__).resolve().parent

MODULES = {
    "heapq": "test.test_heapq",
    "bisect": "test.test_bisect",
    "textwrap": "test.test_textwrap",
    "statistics": "test.test_statistics",
    "json": "test.test_json",
    "string": "test.test_string",
    "copy": "test.test_copy",
    "fractions": "test.test_fractions",
    "colorsys": "test.test_colorsys",
    "shlex": "test.test_shlex",
    "difflib": "test.test_difflib",
    "calendar": "test.test_calendar",
    "configparser": "test.test_configparser",
    "csv": "test.test_csv",
    "fnmatch": "test.test_fnmatch",
    "graphlib": "test.test_graphlib",
    "keyword": "test.test_keyword",
    "pprint": "test.test_pprint",
    "cmd": "test.test_cmd",
    "sched": "test.test_sched",
    "queue": "test.test_queue",
    "html": "test.test_htmlparser",
    "urllib": "test.test_urlparse",
    "argparse": "test.test_argparse",
    "tokenize": "test.test_tokenize",
    "dataclasses": "test.test_dataclasses",
    "ipaddress": "test.test_ipaddress",
    "random": "test.test_random",
    "glob": "test.test_glob",
    "reprlib": "test.test_reprlib",
    "plistlib": "test.test_plistlib",
    "quopri": "test.test_quopri",
}

RUN_TESTS = """
import importlib, json, sys, unittest

class Result(unittest.TestResult):
    ends = None
    def note(self, test, end, error=None):
        self.ends.append((str(test.id()), end, self._exc_info_to_string(error, test)[-1500:] if error else ""))
    def addSuccess(self, test): self.note(test, "passed")
    def addError(self, test, error): self.note(test, "error", error)
    def addFailure(self, test, error): self.note(test, "failed", error)
    def addSkip(self, test, reason): self.note(test, "skipped")
    def addExpectedFailure(self, test, error): self.note(test, "expected failure")
    def addUnexpectedSuccess(self, test): self.note(test, "unexpected success")
    def addSubTest(self, test, subtest, error):
        if error: self.note(subtest, "error" if not issubclass(error[0], test.failureException) else "failed", error)

module, tests, out = sys.argv[1:]
where = getattr(importlib.import_module(module), "__file__", "")
result = Result()
result.ends = []
try:
    unittest.defaultTestLoader.loadTestsFromName(tests).run(result)
except BaseException as error:
    result.ends.append((tests, "aborted", repr(error)))
json.dump({"file": where, "ends": result.ends}, open(out, "w"))
"""


def have_tests(test_module):
    try:
        return importlib.util.find_spec(test_module) is not None
    except ModuleNotFoundError:
        return False


def converted_files(module):
    """Yields (path relative to the library, converted text) for the files of a module or package."""
    spec = importlib.util.find_spec(module)
    origin = pathlib.Path(spec.origin)
    base = origin.parent.parent if spec.submodule_search_locations else origin.parent
    files = sorted(origin.parent.rglob("*.py")) if spec.submodule_search_locations else [origin]
    for file in files:
        yield file.relative_to(base), converter.convert(file.read_text(encoding="utf-8"))[0]


def run_tests(module, test_module, path, seconds):
    """Runs a test module of CPython with this module path. Returns the file of the tested module, and the result of
    each test."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "ends.json")
        path = [*map(str, path), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path), "PYTHONHASHSEED": "0"}
        command = [sys.executable, "-W", "ignore", "-c", RUN_TESTS, module, test_module, str(out)]
        try:
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            return {"file": "", "ends": [[test_module, "timeout", ""]]}
        if not out.exists():
            return {"file": "", "ends": [[test_module, "crashed", done.stderr.decode(errors="replace")[-2000:]]]}
        return json.loads(out.read_text())


def check(module, test_module, seconds=600):
    """Tests one module. Returns whether all results are the same."""
    with tempfile.TemporaryDirectory() as folder:
        for relative, text in converted_files(module):
            target = pathlib.Path(folder, relative)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        before = run_tests(module, test_module, [], seconds)
        after = run_tests(module, test_module, [folder, HERE], seconds)
        if not after["file"].startswith(folder) and after["file"]:
            raise SystemExit(f"{module} was imported from {after['file']}, not from the converted files")
    if not any(end == "passed" for _, end, _ in before["ends"]):
        raise SystemExit(f"{test_module} fails with the original module: {before['ends'][:2]}")
    left = {name: end for name, end, _ in before["ends"]}
    right = {name: (end, text) for name, end, text in after["ends"]}
    counts = {end: sum(e == end for e in left.values()) for end in sorted(set(left.values()))}
    listed = ", ".join(f"{n} {end}" for end, n in counts.items())
    different = [n for n in {**left, **right} if left.get(n) != right.get(n, (None,))[0]]
    print(f"{module:14} {test_module:22} {listed}; {len(different)} different", flush=True)
    for name in different[:20]:
        print(f"  {name}: {left.get(name)} -> {right.get(name, ('absent', ''))[0]}")
        for line in right.get(name, ("", ""))[1].splitlines()[-8:]:
            print(f"      {line}")
    return not different


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("module", nargs="?")
    options.add_argument("test_module", nargs="?")
    given = options.parse_args()
    wanted = {given.module: given.test_module or f"test.test_{given.module}"} if given.module else MODULES
    missing = [tests for tests in wanted.values() if not have_tests(tests)]
    if missing:
        print(f"missing: this Python ({sys.executable}) has no {', '.join(missing)}", file=sys.stderr)
    same = [check(module, tests) for module, tests in wanted.items() if tests not in missing]
    print(f"{len(same)} modules, {same.count(False)} different")
    return 1 if missing or False in same else 0


if __name__ == "__main__":
    sys.exit(main())
