"""The harness of all suites: runs each case in eager torch and staged, and prints one table.

A case is a name and a program. A program is a function with the parameter `stage`. It builds everything from a seed,
wraps a function with `stage`, calls the wrapped function, and returns everything that can be observed.
"""

import argparse
import collections
import copy
import dataclasses
import io
import json
import random
import signal
import sys
import traceback
import warnings
from contextlib import redirect_stderr, redirect_stdout
from importlib import metadata
from pathlib import Path

import numpy as np
import torch
from torch.utils import _pytree as pytree

import autograph as ag

#: Seconds of processor time for one run of a program.
LIMIT = 60

AGREE, DIFFERENT, REFUSED, ERROR, SKIPPED = "agree", "different", "refused", "error", "skipped"

#: Compilers of torch that `--peers` compares with `ag.function`.
PEERS = {
    "torch.compile": lambda f: torch.compile(f, fullgraph=True, backend="aot_eager"),
    "torch.export": lambda f: _Exported(f),
    "torch.jit.script": torch.jit.script,
}


@dataclasses.dataclass
class Case:
    name: str
    program: object


@dataclasses.dataclass
class Outcome:
    kind: str
    message: str = ""
    line: str = ""


class _Exported:
    """A function that `torch.export` captures at its first call."""

    def __init__(self, function):
        self.function = function
        self.program = None

    def __call__(self, *args, **kwargs):
        if self.program is None:
            module = torch.nn.Module()
            module.forward = self.function
            self.program = torch.export.export(module, args, kwargs).module()
        return self.program(*args, **kwargs)


class TimedOut(BaseException):
    """A program ran for longer than `LIMIT`. Not an `Exception`, so that no program catches it."""


def _time_out(*_):
    raise TimedOut


def seed(number=0):
    random.seed(number)
    np.random.seed(number)
    torch.manual_seed(number)


def run(program, stage):
    """Runs a program and returns its result. Discards its printed output and warnings."""
    seed()
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    try:
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            return program(stage)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def outcome(case, stage=ag.function):
    """Runs a case eagerly and staged, and compares the results."""
    try:
        expected = run(case.program, lambda f: f)
    except (Exception, TimedOut) as error:
        return Outcome(SKIPPED, f"eager torch: {_first_line(error)}")
    try:
        found = run(case.program, stage)
    except ag.StagingError as error:
        return Outcome(REFUSED if error.span else ERROR, error.message.splitlines()[0], _line(error.span))
    except (Exception, TimedOut) as error:
        return Outcome(ERROR, f"{type(error).__name__}: {_first_line(error)}", _innermost(error))
    difference = differs(found, expected)
    return Outcome(DIFFERENT, difference) if difference else Outcome(AGREE)


def differs(found, expected):
    """Returns the first difference between two results; None if there is none."""
    mine, structure = pytree.tree_flatten_with_path(found)
    theirs, other = pytree.tree_flatten_with_path(expected)
    if structure != other:
        return f"structure {structure} instead of {other}"[:200]
    for (path, one), (_, two) in zip(mine, theirs):
        problem = _leaf_differs(one, two)
        if problem:
            return f"{pytree.keystr(path)}: {problem}"[:200]
    return None


def _leaf_differs(one, two):
    if isinstance(two, torch.Tensor):
        if not isinstance(one, torch.Tensor):
            return f"{type(one).__name__} instead of a tensor"
        if one.requires_grad != two.requires_grad:
            return f"requires_grad is {one.requires_grad}"
        one, two = (t.detach().to_dense() if t.layout is not torch.strided else t.detach() for t in (one, two))
        try:
            torch.testing.assert_close(one, two, equal_nan=True, rtol=1e-3, atol=1e-4)
        except AssertionError as error:
            return " ".join(str(error).split())
        return None
    if type(one) is not type(two):
        return f"{type(one).__name__} instead of {type(two).__name__}"
    if isinstance(two, float):
        return None if one == two or abs(one - two) <= 1e-4 + 1e-3 * abs(two) or one != one else f"{one} and {two}"
    if isinstance(two, (int, str, bytes, bool, type(None))):
        return None if one == two else f"{one!r} instead of {two!r}"
    return None


def snapshot(value):
    """Returns a copy of values that a program changes later."""
    return pytree.tree_map(lambda v: v.detach().clone() if isinstance(v, torch.Tensor) else copy.copy(v), value)


def _first_line(error):
    return (str(error).strip().splitlines() or [""])[0][:200]


def _line(span):
    return f"{_short(span[0])}:{span[1]}" if span else ""


def _innermost(error):
    """Returns the three innermost lines of the traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    return " <- ".join(f"{_short(f.filename)}:{f.lineno}" for f in reversed(frames[-3:]))


def _short(path):
    for root in sys.path:
        if root and path.startswith(root + "/"):
            return path[len(root) + 1 :]
    return "/".join(Path(path).parts[-2:])


def main(name, cases):
    """The command line of a suite. `cases` returns all cases."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--count", type=int, help="a sample of this many cases")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the sample")
    parser.add_argument("--only", default="", help="cases with this text in their names")
    parser.add_argument("--part", default="0/1", help="I/N: every Nth case from the Ith on, for N processes")
    parser.add_argument("--peers", action="store_true", help="run torch.compile, torch.export and torch.jit.script too")
    parser.add_argument("--verbose", action="store_true", help="print each case that does not agree")
    parser.add_argument("--strict", action="store_true", help="fail if a case ends with an error, too")
    parser.add_argument("--json", type=Path, help="write the outcome of each case to this file")
    options = parser.parse_args()
    signal.signal(signal.SIGPROF, _time_out)
    torch.set_num_threads(1)
    selected = sample(cases(), options)
    columns = {"autograph": ag.function, **(PEERS if options.peers else {})}
    found = {column: {} for column in columns}
    for case in selected:
        for column, stage in columns.items():
            result = outcome(case, stage)
            if column != "autograph" and result.kind == ERROR:
                result.kind = REFUSED  # the other compilers have no separate class for code that they refuse
            found[column][case.name] = result
            if options.verbose and result.kind not in (AGREE, SKIPPED):
                print(f"{column} {case.name}: {result.kind}: {result.message} [{result.line}]", flush=True)
            if result.kind == SKIPPED:
                if options.verbose:
                    print(f"{case.name}: skipped: {result.message}", flush=True)
                break
            torch._dynamo.reset()
    print(table(name, found))
    if options.json:
        data = {c: {n: dataclasses.asdict(o) for n, o in r.items()} for c, r in found.items()}
        options.json.write_text(json.dumps(data, indent=1))
    failures = (DIFFERENT, ERROR) if options.strict else (DIFFERENT,)
    failed = [(case, o) for case, o in found["autograph"].items() if o.kind in failures]
    for case, result in failed if not options.verbose else ():
        print(f"{case}: {result.kind}: {result.message} [{result.line}]")
    sys.exit(1 if failed else 0)


def sample(cases, options):
    cases = [case for case in cases if options.only in case.name]
    if options.count is not None and options.count < len(cases):
        order = sorted(random.Random(options.seed).sample(range(len(cases)), options.count))
        cases = [cases[index] for index in order]
    first, step = map(int, options.part.split("/"))
    return cases[first::step]


def table(name, found):
    """Returns a Markdown table with one row for each compiler in `found`."""
    rows = ["| suite | with | cases | agree | different | refused | error |", "|---|---|---|---|---|---|---|"]
    for column, results in found.items():
        kinds = collections.Counter(o.kind for o in results.values() if o.kind != SKIPPED)
        counts = " | ".join(str(kinds[kind]) for kind in (AGREE, DIFFERENT, REFUSED, ERROR))
        rows.append(f"| {name} | {column} | {sum(kinds.values())} | {counts} |")
    return "\n".join(rows)


def versions(*packages):
    return ", ".join(f"{package} {metadata.version(package)}" for package in ("torch", *packages))
