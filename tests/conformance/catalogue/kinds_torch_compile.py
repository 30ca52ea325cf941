"""The graph breaks of torch.compile: the entries of `torch/_dynamo/graph_break_registry.json`.

The source of a kind is the module that contains the kind's message as a string.
"""
import ast
import json
from pathlib import Path

import torch._dynamo


def modules(folder):
    """Returns the module in which each string constant of the package appears."""
    found = {}
    for path in sorted(folder.rglob("*.py")):
        name = str(path.relative_to(folder.parent.parent))
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.setdefault(node.value, name)
    return found


def kinds():
    folder = Path(torch._dynamo.__file__).parent
    registry = folder / "graph_break_registry.json"
    sources = modules(folder)
    for kind, versions in json.loads(registry.read_text()).items():
        message = versions[0]["Gb_type"]
        source = sources.get(message, "torch/_dynamo/graph_break_registry.json")
        yield {"kind": kind, "source": source, "message": message}
