"""Records the framework's errors in the functions of the modules of a folder that have RULES or KINDS.

    python record_errors.py FOLDER [MODULE ...]

Every top-level statement and every expression statement of `main()` runs separately, so that an error does not
hide the next one. NAME.json contains, for each function in the module's RULES, {function, dialect, raises, error,
message, line}: `line` is the innermost line of the module that the framework reports. For KINDS, the entry also has the
`kind`. A graph break of torch.compile counts as an error: the first that `torch._dynamo.explain` lists, or that
`fullgraph=True` raises. A function with `fullgraph=True` is compiled only in that mode.
"""
import ast
import contextlib
import functools
import json
import os
import re
import sys
import traceback
import types
import warnings
from pathlib import Path

# TensorFlow puts the stack of the user's code before the message.
IN_USER_CODE = re.compile(r"\A(?:.*\n)*?in user code:\n(?:.*\n)*?    (?=\w+: )")
LABELS = re.compile(r"^(RULES|KINDS) = ", re.MULTILINE)


class GraphBreak(Exception):
    """torch.compile ends a graph, and runs code in Python."""


def explained(compile_function, dynamo):
    """Replaces torch.compile: a call raises at its first graph break."""
    def compiled(*given, fullgraph=False, **options):
        if dynamo.is_compiling():
            # torch.compile is called by a function that is being traced.
            return compile_function(*given, fullgraph=fullgraph, **options)
        if not given:
            return functools.partial(compiled, fullgraph=fullgraph)
        [function] = given

        def call(*args, **kwargs):
            dynamo.reset()
            for found in () if fullgraph else dynamo.explain(function)(*args, **kwargs).break_reasons:
                place = [frame for frame in found.user_stack if frame.filename != __file__][-1]
                raise GraphBreak(f'{found.reason}\n  File "{place.filename}", line {place.lineno}')
            dynamo.reset()
            return compile_function(function, fullgraph=True, backend="eager")(*args, **kwargs)

        return call

    return compiled


def scrubbed(message, path):
    # Some messages contain only the end of a long path.
    message = re.sub(rf"[^\s\"'(]*/{re.escape(path.name)}", path.name, IN_USER_CODE.sub("", message))
    message = re.sub(r"[^\s\"']*/site-packages/", "", message)
    return re.sub(r" at 0x[0-9a-f]+| with object id \d+|\x1b\[[0-9;]*m", "", message)[:300].rstrip()


def reported_line(error, path):
    """Returns the reported line. Compilers put it into the message; tracers have it on the stack."""
    named = re.findall(rf'File "[^"]*{re.escape(path.name)}", line (\d+)', str(error))
    script = "<--- HERE" in str(error)
    if named:
        return int(named[0] if script else named[-1])
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
    frames = [f for f in frames if f.name != "<module>"] or frames
    return frames[-1].lineno if frames else None


def attempt(code, names, path):
    try:
        with open(os.devnull, "w") as printed, contextlib.redirect_stdout(printed):
            exec(code, names)
        return {"raises": False}
    except Exception as error:
        return {"raises": True, "error": type(error).__name__, "message": scrubbed(str(error), path),
                "line": reported_line(error, path)}


def mentioned(node, rules):
    """Returns the functions in `rules` that a statement of main() uses. A use of a class counts for all of its methods."""
    words = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return [rule for rule in rules if rule.split(".")[0] in words]


def record(path):
    """Runs each function of a module as its `main()` calls it. Returns the recorded entry of each function."""
    module = types.ModuleType(path.stem)
    module.__file__ = str(path)
    sys.modules[path.stem] = module
    names, outcomes = vars(module), {}
    tree = ast.parse(path.read_text())

    def run(node):
        return attempt(compile(ast.Module([node], []), str(path), "exec"), names, path)

    def note(function, outcome):
        if not outcomes.get(function, {}).get("raises"):
            outcomes[function] = outcome

    main = None
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "main":
            main = node
        elif not isinstance(node, ast.If):
            outcome = run(node)
            if outcome["raises"]:
                note(node.name, outcome)
    rules, dialect = names.get("RULES") or names["KINDS"], names["DIALECT"]
    for node in main.body:
        outcome = run(node)
        for function in mentioned(node, rules) if isinstance(node, ast.Expr) else ():
            note(function, outcome)
    silent = [function for function in rules if function not in outcomes]
    if silent:
        sys.exit(f"{path.name}: not called: {', '.join(silent)}")
    for function, kind in rules.items():
        if (kind is not None) != outcomes[function]["raises"]:
            print(f"{path.name}: {function}: expected {kind}, got {outcomes[function]}", file=sys.stderr)
    kind = (lambda function: {"kind": rules[function]}) if "KINDS" in names else (lambda _: {})
    return [{"function": f, "dialect": dialect, **kind(f), **outcomes[f]} for f in rules]


def main():
    folder, modules = Path(sys.argv[1]).resolve(), sys.argv[2:]
    paths = [folder / f"{m}.py" for m in modules] or sorted(folder.glob("*.py"))
    warnings.simplefilter("ignore")
    if folder.name.startswith("torch"):
        import torch
        torch.set_num_threads(1)
        # At its first trace, Dynamo looks up `torch.compile` and other known functions. Do this before replacing it.
        torch.compile(lambda x: torch.sin(x), backend="eager")(torch.ones(1))
        torch.compile = explained(torch.compile, torch._dynamo)
    if folder.name == "tensorflow":
        # TensorFlow raises if it cannot convert a function, instead of logging a warning.
        os.environ["AUTOGRAPH_STRICT_CONVERSION"] = "1"
    for path in paths:
        if not LABELS.search(path.read_text()):
            continue
        rows = ",\n  ".join(json.dumps(row) for row in record(path))
        path.with_suffix(".json").write_text(f'{{"module": "{path.stem}",\n "errors": [\n  {rows}\n ]}}\n')


if __name__ == "__main__":
    main()
