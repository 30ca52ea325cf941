"""Compares original and converted code: `python side_by_side.py [FILE|FOLDER]…`. The default is `functions/` and
`counterexamples/`.

A file is a module whose last statement is `CALLS = [expression, …]`. Each expression is evaluated in the original and
in the converted module. Events, result or exception, and the line that raised must be the same.
"""

import ast
import contextlib
import pathlib
import signal
import sys
import types
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import ag_reference
import converter
import environment
import snek_reference

HEADER = "from environment import *\n"
MARK = "PROGRAM_STARTS = {}\n"
SECONDS_PER_CALL = 5


class TimedOut(BaseException):
    """A program timed out."""


class Observation(types.SimpleNamespace):
    """The result of one call: `call`, `events`, `outcome`, `line`."""


@contextlib.contextmanager
def in_time(seconds):
    """Raises `TimedOut` if the block takes longer than this number of seconds."""
    def stop(signum, frame):
        raise TimedOut

    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def observe(code, calls, filename, globals_=(), seconds=SECONDS_PER_CALL):
    """Executes a module's code, then the calls, and returns an observation of each."""
    namespace = {name: getattr(environment, name) for name in environment.__all__}
    namespace.update(__name__="program", ag__=ag_reference)
    namespace.update((name, getattr(snek_reference, name)) for name in snek_reference.__all__)

    def observation(call, run):
        try:
            with in_time(seconds):
                events, outcome, lines = environment.observed(run, filename)
        except TimedOut:
            return Observation(call=call, events=(), outcome=("timed out",), line=None)
        events += tuple((name, environment.show(namespace.get(name))) for name in globals_)
        return Observation(call=call, events=events, outcome=outcome, line=lines[-1] if lines else None)

    found = [observation("<module>", lambda: exec(code, namespace))]
    if found[0].outcome[0] == "returned":
        found += [observation(call, lambda: eval(call, namespace)) for call in calls]
    return found


def extents(text):
    """Maps each line to the first and last line of the innermost statement on it. For a compound statement, these are
    the lines of its header."""
    found = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.stmt, ast.ExceptHandler)):
            body = getattr(node, "body", None)
            last = body[0].lineno - 1 if isinstance(body, list) and body else node.end_lineno
            for line in range(node.lineno, max(last, node.lineno) + 1):
                first, end = found.get(line, (0, sys.maxsize))
                found[line] = max(first, node.lineno), min(end, max(last, node.lineno))
    return found


def difference(original, converted, lines, spread):
    """Returns the first pair of observations that differ, or None.

    `lines` maps converted lines to original ones. Within a statement of several lines, the reported lines may differ;
    `spread` maps a line to the lines of its statement.
    """
    for left, right in zip(original, converted):
        if ("timed out",) in (left.outcome, right.outcome):
            return None if left.outcome == right.outcome else (left, right)
        if (left.events, left.outcome) != (right.events, right.outcome):
            return left, right
        # CPython fuses a store with the following load, and then reports the line of the store for an unbound local.
        if left.outcome[1:] and left.outcome[1].startswith("UnboundLocalError"):
            continue
        candidates = [spread.get(line, (line, line)) for line in lines.get(right.line, ())]
        if lines and left.line is not None and not any(a <= left.line <= b for a, b in candidates):
            right.line = f"{right.line} -> {lines.get(right.line)}"
            return left, right
    return None


def modules_of(text, filename):
    """Returns a dictionary from number to code. `text` consists of several modules; each begins with a marker that
    contains its number."""
    found, body = {}, None
    for statement in ast.parse(text, filename).body:
        if isinstance(statement, ast.Assign) and getattr(statement.targets[0], "id", "") == "PROGRAM_STARTS":
            body = found.setdefault(statement.value.value, [])
        elif body is not None:
            body.append(statement)
    return {k: compile(ast.Module(body, []), filename, "exec") for k, body in found.items()}


def compare(programs, seconds=SECONDS_PER_CALL):
    """Converts all programs in one run. Yields (index, difference or None, observations of the original)."""
    text = HEADER + "".join(MARK.format(i) + program.text for i, program in enumerate(programs))
    try:
        converted, lines = converter.convert(text)
        right = modules_of(converted, "converted.py")
    except (converter.ConverterFailed, SyntaxError, ValueError) as error:
        if len(programs) > 1:
            for i, program in enumerate(programs):
                for _, found, original in compare([program], seconds):
                    yield i, found, original
            return
        try:
            compile(text, "original.py", "exec")
        except SyntaxError:
            yield 0, None, []
            return
        call = Observation(call="<conversion>", events=(), outcome=("raised", f"{type(error).__name__}: {error}"), line=None)
        yield 0, (Observation(call="<conversion>", events=(), outcome=("converted",), line=None), call), []
        return
    left = modules_of(text, "original.py")
    spread = extents(text)
    for i, program in enumerate(programs):
        globals_ = getattr(program, "globals", ())
        original = observe(left[i], program.calls, "original.py", globals_, seconds)
        if i in right:
            changed = observe(right[i], program.calls, "converted.py", globals_, seconds)
        else:
            changed = [Observation(call="<module>", events=(), outcome=("missing",), line=None)]
        yield i, difference(original, changed, lines, spread), original


def report(found):
    """Formats a difference and omits common events."""
    left, right = found
    words = [f"call: {left.call}"]
    common = 0
    for a, b in zip(left.events, right.events):
        if a != b:
            break
        common += 1
    for title, one in (("original ", left), ("converted", right)):
        events = ", ".join(f"{label}: {value}" for label, value in one.events[common : common + 12])
        words.append(f"  {title} [{'… ' if common else ''}{events}] -> {' '.join(map(str, one.outcome))}, line {one.line}")
    return "\n".join(words)


def read_case(path):
    """Returns the text and the calls of a file."""
    text = path.read_text()
    last = ast.parse(text).body[-1]
    if not (isinstance(last, ast.Assign) and last.targets[0].id == "CALLS"):
        raise ValueError(f"{path}: the last statement must be CALLS = […]")
    calls = ast.literal_eval(last.value)
    body = "".join(text.splitlines(keepends=True)[: last.lineno - 1])
    return types.SimpleNamespace(text=body, calls=calls)


def main(paths):
    warnings.simplefilter("ignore")
    files = []
    for path in map(pathlib.Path, paths or [HERE / "functions", HERE / "counterexamples"]):
        files += sorted(path.glob("*.py")) if path.is_dir() else [path]
    calls = functions = different = 0
    for file in files:
        case = read_case(file)
        functions += sum(isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) for n in ast.walk(ast.parse(case.text)))
        calls += len(case.calls)
        # The calls of a file are independent, so report every difference.
        rest = case.calls
        while rest:
            ((_, found, original),) = compare([types.SimpleNamespace(text=case.text, calls=rest)])
            if found is None:
                break
            different += 1
            print(f"{file}\n{report(found)}\n")
            rest = rest[rest.index(found[0].call) + 1 :] if found[0].call in rest else []
    print(f"{len(files)} files, {functions} functions, {calls} calls: {different} different")
    return different != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
