"""The errors of TorchScript: `raise` statements of `torch/jit/frontend.py`, unsupported syntax, and messages of the
compiler.

The compiler is a binary library, so its messages are listed here. A message that the installed library does not contain
is skipped, and then `kinds.py` reports its kind as gone.
"""
import ast
import mmap
from pathlib import Path

import torch
from torch.jit import frontend

#: Messages of the compiler (`torch/csrc/jit`) that the source of a program can cause: the literal part of each message.
COMPILER = {
    "branch-type": "is set to type ",
    "branch-undefined": " is not defined in the ",
    "undefined-value": "undefined value ",
    "rebinding": "previously had type ",
    "return-type": "Previous return statement returned a value of type ",
    "declared-return": "Return value was annotated as having type ",
    "missing-return": "return along all paths",
    "annotated-twice": "Attempting to declare and annotate the type of variable '",
    "if-expression": "if-expression's true branch has type ",
    "not-a-bool": "Could not cast value of type ",
    "arguments": "Arguments for call are not valid",
    "no-attribute": "object has no attribute or method '",
    "attribute-assignment": "Wrong type for attribute assignment. Expected ",
    "new-attribute": "Tried to set nonexistent attribute: ",
    "module-index": "Expected integer literal for index but got a variable or non-integer",
    "module-key": "Unable to extract string literal index",
    "element-type": "previously matched to type ",
    "tuple-index": " with a non-integer literal because we cannot resolve the output type",
    "python-value": "cannot be used as a value",
    "default": "Expected a default value of type ",
    "starred-list": "cannot statically infer the expected size of a ",
    "too-few-to-unpack": " values to unpack but found only ",
}


def kinds():
    found = []
    source = Path(frontend.__file__)
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            literals = [part.value for part in ast.walk(node.exc)
                        if isinstance(part, ast.Constant) and isinstance(part.value, str) and len(part.value) > 12]
            if literals:
                message = max(literals, key=len)
                found.append({"kind": "frontend: " + message[:60], "source": "torch/jit/frontend.py", "message": message})
    found.append({"kind": "frontend: varargs", "source": "torch/jit/frontend.py", "message": frontend._vararg_kwarg_err})
    built = {name.removeprefix("build_") for builder in (frontend.StmtBuilder, frontend.ExprBuilder) for name in vars(builder)}
    for node in ast.stmt.__subclasses__() + ast.expr.__subclasses__():
        if node.__name__ not in built:
            name = frontend.pretty_node_names.get(node, node.__name__)
            found.append({"kind": f"syntax: {node.__name__}", "source": "torch/jit/frontend.py",
                          "message": f"{name} aren't supported"})
    library = Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"
    wrapper = Path(torch.__file__).parent / "lib" / "libtorch_python.so"
    with library.open("rb") as one, wrapper.open("rb") as other:
        texts = [mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) for file in (one, other)]
        for name, message in COMPILER.items():
            if any(text.find(message.encode()) >= 0 for text in texts):
                found.append({"kind": f"compiler: {name}", "source": "torch/csrc/jit", "message": message})
    unique = {}
    for kind in found:
        unique.setdefault(kind["kind"], kind)
    return list(unique.values())
