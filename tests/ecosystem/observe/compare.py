"""Compares the output of the checker with observed facts.

    python compare.py AG_LSP_BINARY FACTS FOLDER [--list KIND]

| term | meaning |
|---|---|
| agree | a condition or loop with the same verdict of the checker and the run: staged, or decided by Python |
| contradiction | the checker classifies it as staged, but Python always decided it, or vice versa |
| mixed | both were observed, or both are possible according to the checker |
| unknown | the checker has no verdict, in a function that it lists as staged |
| in unseen functions | conditions and loops of functions that the checker does not list as staged, including those of tests |
| unlisted | the checker lists the function, but not the condition |
| not seen | a function of the package (not of its tests) that ran during tracing and that the checker does not list as staged |
| true, false | an error at a statement where the framework raised; an error at a statement that ran during tracing without an exception |
| ran | a warning or info at a statement that ran during tracing; exceptions neither confirm nor refute it |
| not run | a finding at a statement that no test reached during tracing |
| missed | a statement at which the framework raised during tracing, without a finding |
"""
import argparse
import ast
import collections
import functools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from observer.facts import read

TESTS = re.compile(r"(^|/)(tests?|testing|test_\w+|\w+_tests?|conftest|\w*test_?(utils?|lib|case|base)\w*)(\.py$|/)")


def checker(binary, command, folder, roots=""):
    line = [binary, command, "--isolated", "--output-format", "json", "--roots", roots or "declared"]
    if command == "check":
        line.append("--exit-zero")
    result = subprocess.run([*line, "."], cwd=folder, capture_output=True, text=True)
    if result.returncode not in (0, 1):
        print(f"{folder}: {command} ends with {result.returncode}: {result.stderr[-500:]}", file=sys.stderr)
    return json.loads(result.stdout or "[]")


class Stages:
    """The verdicts of the checker about functions and their conditions and loops."""

    def __init__(self, rows, folder):
        self.functions = {}
        self.constructs = {}
        for row in rows:
            file = absolute(row["file"], folder)
            for function in row["functions"]:
                self.functions[file, function["line"]] = function
                for construct in function["constructs"]:
                    place = file, construct["line"], construct["column"], construct["kind"]
                    self.constructs[place] = construct["binding"]


def absolute(path, folder):
    return os.path.realpath(os.path.join(folder, path))


def observed_verdict(row):
    staged, python, unclear = row["staged"], row["python"], row["unclear"]
    if unclear or staged and python:
        return "mixed"
    return "staged" if staged else "python"


class Comparison:
    def __init__(self, facts, stages, findings, folder):
        self.folder = os.path.realpath(folder)
        self.stages = stages
        self.cases = collections.defaultdict(list)
        self.counts = collections.Counter()
        self.texts = {}
        functions = {(row["file"], row["line"]): row for row in facts if row["kind"] == "function"}
        self.functions(functions)
        self.decisions([row for row in facts if row["kind"] == "decision"], functions)
        self.findings(facts, findings)

    def functions(self, functions):
        for (file, line), row in functions.items():
            if is_test(file, self.folder):
                continue
            self.counts["functions"] += 1
            self.counts["calls"] += row["count"]
            if (file, line) not in self.stages.functions:
                self.note("not seen", file, line, self.cause(row, functions))

    def cause(self, row, functions, depth=0):
        """Returns why a function is not seen: the checker did not follow a call of the function or of one of its callers,
        or does not know their root."""
        for file, line, _, _, between in row["callers"]:
            caller = self.enclosing(file, line)
            seen = caller and (file, caller.lineno) in self.stages.functions
            if caller and not seen and (file, caller.lineno) in functions:
                continue
            kind = "call not followed" if seen else "root not known"
            form = api(between) or form_of_call(parsed(file), caller, line, row["name"])
            return f"{kind}, {form}: `{row['name']}`, called at {os.path.relpath(file, self.folder)}:{line}"
        for file, line, *_ in row["callers"] if depth < 30 else ():
            above = functions[file, self.enclosing(file, line).lineno]
            if above is not row:
                return self.cause(above, functions, depth + 1).replace(": ", ": below ", depth == 0)
        return f"unknown cause: `{row['name']}`"

    def enclosing(self, file, line):
        """Returns the innermost `def` around a line; None if there is none."""
        found = None
        for node in ast.walk(parsed(file)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.lineno <= line <= node.end_lineno:
                # Parents come first.
                found = node
        return found

    def decisions(self, rows, functions):
        """Counts and lists the agreements and disagreements about conditions and loops."""
        for row in rows:
            file, line, column, construct = row["file"], row["line"], row["column"], row["construct"]
            verdict = observed_verdict(row)
            binding = self.stages.constructs.get((file, line, column, construct))
            self.counts["decisions"] += 1
            self.counts["executions"] += row["staged"] + row["python"] + row["unclear"]
            self.counts["observed " + verdict] += 1
            detail = f"{construct}: ran as {verdict} ({row['staged']}/{row['python']}), the checker says {binding}"
            if binding is None:
                # A lambda is listed with the enclosing function.
                known = (file, row["function"]) in self.stages.functions
                kind = "unlisted" if known else "in unseen functions"
                if kind == "unlisted":
                    self.note(kind, file, line, detail)
                else:
                    self.counts[kind] += 1
            elif binding == "unknown":
                self.note("unknown", file, line, detail)
            elif binding == verdict:
                self.counts["agree"] += 1
            elif "mixed" in (binding, verdict):
                self.counts["mixed"] += 1
            else:
                self.note("contradiction", file, line, detail)

    def findings(self, facts, findings):
        """Counts and lists the true, false and missed findings."""
        ran = {(row["file"], line) for row in facts if row["kind"] == "line" for line in row["lines"]}
        raised = collections.defaultdict(list)
        broke = collections.defaultdict(list)
        for row in facts:
            if row["kind"] == "error":
                raised[row["file"], row["line"]].append(row)
            elif row["kind"] in ("break", "recompilation"):
                broke[row["file"], row["line"]].append(row)
        for finding in findings:
            file = absolute(finding["filename"], self.folder)
            lines = range(finding["location"]["row"], finding["end_location"]["row"] + 1)
            detail = f"{finding['code']} {finding['severity']}: {finding['message']}"
            start = lines[0]
            begins = self.statement(file, start)
            places = {(file, line) for line in (start, begins)}
            severity = finding["severity"]
            if any(place in raised or place in broke for place in places):
                kind = "true"
            elif places & ran:
                # Warnings are about effects that raise no exception: lost side effects, retracing.
                kind = "false" if severity == "error" else "ran"
            else:
                kind = "not run"
            self.counts[f"{kind} {severity}"] += 1
            self.cases[f"{kind} {severity}"].append((file, start, detail))
        found = {(absolute(finding["filename"], self.folder), line) for finding in findings
                 for line in range(finding["location"]["row"], finding["end_location"]["row"] + 1)}
        for (file, line), rows in raised.items():
            if any(row["traced"] for row in rows) and not {(file, line), (file, self.statement(file, line))} & found:
                self.note("missed", file, line, f"{rows[0]['type']}: {rows[0]['message'][:120]!r}")

    def statement(self, file, line):
        """Returns the first line of the innermost statement at a line."""
        starts = self.texts.get(file)
        if starts is None:
            starts = self.texts[file] = statement_starts(file)
        return starts.get(line, line)

    def note(self, kind, file, line, detail):
        self.counts[kind] += 1
        self.cases[kind].append((file, line, detail))


# Pattern of function names on the stack -> the API of JAX or TensorFlow. The first match counts.
APIS = {"cache_miss|_infer_params": "jit", "vmap_f": "vmap", "pmap": "pmap", "scan": "scan", "fori_loop": "fori_loop",
        "while_loop": "while_loop", "switch": "switch", "cond": "cond", "custom_jvp": "custom_jvp",
        "custom_vjp": "custom_vjp", "eval_shape": "eval_shape", "make_jaxpr": "make_jaxpr", "fun_remat": "checkpoint",
        "value_and_grad|grad_f": "grad", "jvp": "jvp", "vjp": "vjp", "linearize": "linearize", "shard_map": "shard_map",
        "tree_map_with_path": "tree_map_with_path", "tree_map": "tree_map", "Dataset|MapDataset": "Dataset.map",
        "map_fn": "map_fn", "TFFunction|Function": "tf.function"}


def api(between):
    """Describes how a framework called a function, from the names of the framework's functions on the stack."""
    between = [name for name in between if not re.search("converted_call|_call_unconverted|autograph_handler|decorate$"
                                                         "|reraise_with_filtered_traceback|error_handler", name)]
    names = " ".join(between)
    if not names:
        return None
    for pattern, name in APIS.items():
        if re.search(pattern, names):
            return f"passed to {name}"
    return "through " + ", ".join(between[:2])


def form_of_call(tree, caller, line, name):
    """Describes the expression of a call."""
    if name.startswith("__") and name.endswith("__"):
        return f"the special method {name}" if name not in ("__call__", "__init__") else f"{name} of an object"
    statement = None
    for node in ast.walk(caller or tree):
        if isinstance(node, ast.stmt) and node.lineno <= line <= node.end_lineno:
            statement = node
    if statement is None:
        return "?"
    inside = "in a lambda or comprehension, " if any(
        isinstance(node, (ast.Lambda, ast.comprehension)) for node in ast.walk(statement)
        if not isinstance(node, ast.FunctionDef)) else ""
    calls = [node.func for node in ast.walk(statement) if isinstance(node, ast.Call)]
    for function in calls:
        if isinstance(function, ast.Attribute) and function.attr == name:
            return inside + "method of " + receiver(function.value, caller)
        if isinstance(function, ast.Name) and function.id == name:
            return inside + "by its name"
    if any(isinstance(node, ast.Attribute) and node.attr == name for node in ast.walk(statement)):
        return inside + "property of " + " or ".join(sorted({receiver(node.value, caller) for node in ast.walk(
            statement) if isinstance(node, ast.Attribute) and node.attr == name}))
    parameters = {argument.arg for argument in all_arguments(caller)}
    forms = sorted({callee(function, parameters, caller) for function in calls if not isinstance(function, ast.Call)} -
                   {"a global"}) or ["a global"]
    return inside + "value: " + " or ".join(forms[:2])


def all_arguments(function):
    if function is None:
        return []
    arguments = function.args
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]


def receiver(node, caller):
    if isinstance(node, ast.Name):
        parameters = [argument.arg for argument in all_arguments(caller)]
        return "self" if parameters[:1] == [node.id] else "a parameter" if node.id in parameters else "a name"
    if isinstance(node, ast.Attribute):
        return "an attribute of self" if isinstance(node.value, ast.Name) and node.value.id == "self" else "an attribute"
    if isinstance(node, ast.Call):
        return "super()" if isinstance(node.func, ast.Name) and node.func.id == "super" else "a result"
    return "an expression"


def callee(function, parameters, caller):
    """Describes the called expression."""
    if isinstance(function, ast.Name):
        if function.id in parameters:
            return "a parameter"
        bound = any(isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == function.id
                    for node in ast.walk(caller)) if caller else False
        return "a local variable" if bound else "a global"
    if isinstance(function, ast.Attribute):
        return "attribute of " + receiver(function.value, caller)
    return "an expression"


@functools.lru_cache(maxsize=64)
def parsed(file):
    try:
        return ast.parse(Path(file).read_bytes())
    except (SyntaxError, OSError):
        return ast.Module([], [])


def statement_starts(file):
    tree = parsed(file)
    starts = {}
    # Parents come before their children, which take precedence.
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            for line in range(node.lineno, node.end_lineno + 1):
                starts[line] = node.lineno
    return starts


def is_test(file, folder):
    return bool(TESTS.search(os.path.relpath(file, folder)))


def compare(binary, facts, folder, roots=""):
    folder = os.path.realpath(folder)
    # Some packages compile modules from text: their functions have no source file.
    facts = [row for row in facts if row["file"].startswith(folder + os.sep) and os.path.exists(row["file"])]
    stages = Stages(checker(binary, "stages", folder, roots), folder)
    return Comparison(facts, stages, checker(binary, "check", folder, roots), folder)


def listed(comparison, kind):
    for file, line, detail in sorted(comparison.cases[kind]):
        text = Path(file).read_text(encoding="utf-8", errors="replace").splitlines()
        source = text[line - 1].strip() if line <= len(text) else ""
        yield f"{os.path.relpath(file, comparison.folder)}:{line} {detail}\n    {source}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("facts", nargs="+")
    parser.add_argument("folder")
    parser.add_argument("--list", action="append", default=[])
    arguments = parser.parse_args()
    facts = [row for path in arguments.facts for row in read(path)]
    comparison = compare(os.path.abspath(arguments.binary), facts, arguments.folder)
    for kind, count in sorted(comparison.counts.items()):
        print(f"{count:8} {kind}")
    for kind in arguments.list:
        print(f"\n== {kind}")
        print("\n".join(listed(comparison, kind)))


if __name__ == "__main__":
    main()
