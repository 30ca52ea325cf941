"""The errors of torch.export: `raise` statements of `torch/export`, `torch/_export` and `symbolic_shapes`, and messages
built elsewhere.

Assertions about the exporter's own state, and the modules that change or store finished graphs (`passes`, `serde`,
`db`), are excluded. Messages in LISTED are not literals of a `raise`. A listed message that the installed file does not
contain is skipped, and then `kinds.py` reports its kind as gone.
"""
import ast
from pathlib import Path

import torch

SOURCES = ["export/*.py", "_export/*.py", "fx/experimental/symbolic_shapes.py"]
INTERNAL = {"AssertionError", "InternalError", "NotImplementedError", "unittest.SkipTest"}
LISTED = {
    "fx/experimental/symbolic_shapes.py": [
        "Could not guard on data-dependent expression",
        "Could not extract specialized integer from data-dependent expression",
    ],
    "export/dynamic_shapes.py": ["its top-level keys"],
}
#: Messages about Tensors without memory, from the C++ library and from Python.
LIBRARY = {
    "numpy": ".numpy() is not supported for tensor subclasses",
    "address": "Cannot access data pointer of Tensor",
    "memory": "its data is not allocated yet",
    "format": "unsupported format string passed to FakeTensor",
    "equal": "aten.equal.default",
    "eval": "Calling eval() is not supported yet",
}


def pattern(node):
    """Returns the message as in the source, with placeholders in braces."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
    if isinstance(node, ast.BinOp):
        return pattern(node.left) + pattern(node.right)
    return ""


def kinds():
    package = Path(torch.__file__).parent
    found = {}

    def add(module, name, message):
        found.setdefault(name, {"kind": name, "source": f"torch/{module}", "message": message})

    for path in sorted(path for glob in SOURCES for path in package.glob(glob)):
        module = str(path.relative_to(package))
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                if ast.unparse(node.exc.func) not in INTERNAL:
                    message = max(map(pattern, node.exc.args), key=len, default="").strip()
                    words = " ".join(message.split())
                    if len(words.replace("{}", "")) > 12:
                        add(module, f"{path.stem}: {words[:60].strip()}", words)
    for module, messages in LISTED.items():
        text = (package / module).read_text()
        for message in messages:
            if message in text:
                add(module, f"{Path(module).stem}: {message.strip()}", message.strip())
    for name, message in LIBRARY.items():
        add("_subclasses/fake_tensor.py", f"values: {name}", message)
    return list(found.values())
