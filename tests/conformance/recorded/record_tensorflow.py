"""Records which constructs TensorFlow stages in the modules of this folder.

    python record_tensorflow.py --recorder RECORDER.py tensorflow/*.py
    python record_tensorflow.py --output RECORDED.json tensorflow/loops.py

RECORDER.py is not part of this repository. It runs the examples of a module under `tf.function` and reports every
condition and loop that ran. This script adds the conditions of comprehensions, selects the fields that the tests need,
and writes them next to the module.
"""

import argparse
import ast
import importlib.util
import json
import math
import re
import sys
from pathlib import Path

MESSAGE_LENGTH = 300
GRAPH_TRACEBACK = re.compile(r"Graph execution error|Detected at node|<stack traces|  File ")


def import_file(path):
    name = path.stem
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def constants(source, name, default):
    """Returns the value of a module-level `NAME = <literal>`, without importing the module."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) == name:
            return ast.literal_eval(node.value)
    return default


# Comprehension conditions stay Python under AutoGraph, so no operator reports them.


def record_comprehension_conditions(recorder):
    """Makes the recorder also record the conditions of comprehensions."""
    operators = recorder.api._TRANSPILER.get_extra_locals()["ag__"]

    def comprehension_test(value, _site=None):
        recorder._event(_site, recorder.tensor_util.is_tf_type(value), cond=recorder._describe(value))
        return value

    def visit_comprehension(self, node):
        origins = [recorder._origin(test) for test in node.ifs]
        node = self.generic_visit(node)
        for index, (test, origin) in enumerate(zip(node.ifs, origins)):
            call = recorder.templates.replace_as_expression("ag__.comprehension_test(test)", test=test)
            recorder._tag(call, recorder._new_site("comprehension_if", test, origin))
            node.ifs[index] = call
        return node

    operators.comprehension_test = comprehension_test
    recorder.c_logic.LogicalExpressionTransformer.visit_comprehension = visit_comprehension

    listed = recorder.static_constructs

    def static_constructs(path):
        return listed(path) + comprehension_conditions(Path(path).read_text())

    recorder.static_constructs = static_constructs


def comprehension_conditions(source):
    """Returns the conditions of all comprehensions in a source text."""
    found = []

    def walk(node, function):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            function = node.name
        for test in getattr(node, "ifs", ()):
            found.append(
                {
                    "function": function,
                    "kind": "comprehension_if",
                    "line": test.lineno,
                    "col": test.col_offset,
                }
            )
        for child in ast.iter_child_nodes(node):
            walk(child, function)

    walk(ast.parse(source), None)
    return found


def run_recorder(recorder, path):
    module = import_file(path)
    feature = getattr(module, "FEATURE", None)
    features = feature and getattr(recorder.tf.autograph.experimental.Feature, feature)
    results = [
        recorder.run(module, str(path), expression, examples, features)
        for expression, examples in module.EXAMPLES.items()
    ]
    return {"tensorflow": recorder.tf.__version__, "results": results}


# Selection of fields.


def slim(recorded, path):
    """Reduces a recording to the data that the tests read. Each construct is listed once."""
    source = path.read_text()
    rules = constants(source, "RULES", None)
    verdicts = module_verdicts(recorded["results"])
    listed = set()
    results = []
    for result in recorded["results"]:
        kept = {"function": result["function"]}
        if rules is not None:
            kept["rule"] = rules[result["function"]]
        kept["constructs"] = []
        for construct in result["constructs"]:
            place = site(construct)
            if place in listed:
                continue
            listed.add(place)
            fields = {key: construct[key] for key in ("function", "kind", "line", "col")}
            kept["constructs"].append(fields | {"verdict": verdicts[place]})
        kept |= outcome(result, path, compare=rules is not None)
        results.append(kept)
    return {"module": path.name, "tensorflow": recorded["tensorflow"], "results": results}


def site(construct):
    return construct["line"], construct["col"], construct["kind"]


def module_verdicts(results):
    """Returns the verdict of each construct by its position: mixed if the examples disagree."""
    verdicts = {}
    for result in results:
        for construct in result["constructs"]:
            previous = verdicts.setdefault(site(construct), construct["verdict"])
            if previous != construct["verdict"]:
                verdicts[site(construct)] = "mixed"
    return verdicts


def outcome(result, path, compare):
    """Returns the first error of the runs and the reasons why AutoGraph ran functions unconverted; with `compare`, also a
    difference between eager and graph results. Modules without RULES are not compared: their functions may keep state."""
    kept = {}
    for run in result["runs"]:
        error = run.get("error")
        if error and "error" not in kept:
            kept["error"] = {
                "type": error["type"],
                "message": message(error, path),
                "line": error["line"],
                "phase": error["phase"],
            }
        if compare and {"eager", "result"} <= run.keys() and not same(run["eager"], run["result"]):
            kept["differs"] = {"eager": run["eager"], "graph": run["result"]}
    causes = [cause for cause in map(conversion_cause, result["warnings"]) if cause]
    if causes:
        kept["unconverted"] = sorted({without_machine_details(cause, path)[:MESSAGE_LENGTH] for cause in causes})
    return kept


def message(error, path):
    text = error.get("cause") or error["message"]
    text = text.removeprefix(error["type"] + ": ")
    if error["phase"] == "run":
        text = "\n".join(line for line in text.splitlines() if line and not GRAPH_TRACEBACK.match(line))
    return without_machine_details(text, path)[:MESSAGE_LENGTH].strip()


def conversion_cause(warning):
    """Returns AutoGraph's reason for running a function unconverted; None if the warning is about something else."""
    found = re.search(r"will run it as-is.*?\nCause: (.*?)(\nTo silence|\nMatch |\Z)", warning, re.DOTALL)
    return found and found.group(1).strip()


def without_machine_details(text, path):
    """Removes details that differ between machines or runs."""
    text = text.replace(str(path.parent) + "/", "")
    text = re.sub(r"(?<![\w:/.])(/[\w.+-]+)+/(?=[\w.+-])", "", text)
    text = re.sub(r" ?\[Op:__inference\w+\]|(?<=/)_\d+\b", "", text)
    text = re.sub(r"\x1b\[\d+m", "", text)
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def same(left, right):
    """Returns whether two recorded values are equal, except for rounding."""
    if isinstance(left, dict) and isinstance(right, dict):
        if "repr" in left or "repr" in right:
            return True
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    # A graph returns a Python number as a scalar Tensor.
    left, right = (side.get("tensor") if isinstance(side, dict) else side for side in (left, right))
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return math.isclose(left, right, rel_tol=1e-4, abs_tol=1e-5) or (left != left and right != right)
    return left == right


def disagreements(slimmed):
    """Yields a message for each rule that TensorFlow does not confirm, and for each correct function that it rejects."""
    for result in slimmed["results"]:
        faults = {key: result[key] for key in ("error", "unconverted", "differs") if key in result}
        rule = result.get("rule")
        if bool(faults) != (rule is not None):
            yield f"{result['function']}: rule {rule}, but {faults}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--recorder", type=Path, help="run this recorder on the modules")
    source.add_argument("--output", type=Path, help="read the recorder's output for one module")
    parser.add_argument("modules", nargs="+", type=Path)
    arguments = parser.parse_args()

    # The folders next to this script have the names of the frameworks, and would be imported instead of them.
    sys.path.remove(str(Path(__file__).resolve().parent))
    if arguments.recorder:
        recorder = import_file(arguments.recorder.resolve())
        recorder.install_conversion_hooks()
        recorder.install_operator_hooks()
        record_comprehension_conditions(recorder)
    for module in arguments.modules:
        path = module.resolve()
        sys.path.insert(0, str(path.parent))
        if arguments.recorder:
            recorded = run_recorder(recorder, path)
        else:
            recorded = json.loads(arguments.output.read_text())
        slimmed = slim(recorded, path)
        path.with_suffix(".json").write_text(json.dumps(slimmed, indent=1) + "\n")
        constructs = sum(len(result["constructs"]) for result in slimmed["results"])
        print(f"{module}: {len(slimmed['results'])} functions, {constructs} constructs")
        for line in disagreements(slimmed):
            print(f"  {line}")


if __name__ == "__main__":
    main()
