"""The errors of JAX: its error classes, the `raise` statements of its transformations and control flow, and the
arguments of NumPy functions that must be known while tracing.

The name of a kind consists of its file and the beginning of its message; `{}` is a placeholder. Two things are not
kinds: a `raise` without its own message (`raise e`, `raise NotImplementedError`), and an error class whose message
comes from the `raise`, such as `UnexpectedTracerError`.
"""
import ast
import mmap
import re
from pathlib import Path

import jax
import jaxlib

SOURCE = Path(jax.__file__).parent / "_src"
FILES = ["interpreters/ad.py", "api.py", "api_util.py", "pjit.py", "core.py", "custom_derivatives.py", "tree_util.py",
         *(f"lax/control_flow/{name}.py" for name in ("common", "conditionals", "loops", "solves"))]


def kinds():
    """Returns the kinds of errors in the source of JAX, one for each message."""
    found = {}

    def add(stem, source, pattern):
        text = " ".join((pattern or "").split())
        if len(re.findall("[a-zA-Z]{3}", text.replace("{}", ""))) > 1:
            kind = f"{stem}: {text[:60].rstrip()}"
            package = "jaxlib" if stem == "jaxlib" else "jax/_src"
            found.setdefault(kind, {"kind": kind, "source": f"{package}/{source}", "message": text[:160]})

    for node in ast.parse((SOURCE / "errors.py").read_text()).body:
        for item in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(item, ast.FunctionDef) and item.name == "__init__":
                add("errors", "errors.py", longest(item, {}))
    for file in FILES:
        tree = ast.parse((SOURCE / file).read_text())
        makers = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        for function, node in raises(tree):
            if isinstance(node.exc, ast.Call):
                names = assigned(function, node.lineno)
                maker = makers.get(ast.unparse(node.exc.func))
                arguments = [pattern(argument, names) for argument in node.exc.args]
                # For example `msg = "Output {}.".format` and `raise TypeError(msg(f"was {x}"))`.
                for call in node.exc.args:
                    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in names:
                        arguments = [names[call.func.id].replace("{}", pattern(call, names) or "{}", 1)]
                # In `raise escaped_tracer_error(x)`, the function builds the message.
                text = max(filter(None, arguments), key=len, default=None) or maker and longest(maker, {})
                add(Path(file).stem, file, text)
    # The cache of jitted functions is implemented in a binary library.
    text = "Non-hashable static arguments are not supported. An error occurred while trying to hash an object"
    for library in (Path(jaxlib.__file__).parent).glob("libjax*.so"):
        with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            if content.find(text[:60].encode()) >= 0:
                add("jaxlib", library.name, text)
    # For example `core.concrete_or_error(operator.index, n, "'n' argument of jnp.diff")`.
    for path in sorted((SOURCE / "numpy").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("concrete_or_error") and len(node.args) == 3:
                add("numpy", f"numpy/{path.name}", pattern(node.args[2], {}))
    return list(found.values())


def raises(tree):
    """Returns each `raise` with the innermost enclosing function; `yield lambda name: ValueError(…)` counts as a `raise`."""
    def visit(node, function):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Raise) and child.exc is not None:
                yield function, child
            if isinstance(child, ast.Lambda) and ast.unparse(child.body).startswith("ValueError("):
                yield function, ast.Raise(exc=child.body, lineno=child.lineno)
            yield from visit(child, child if isinstance(child, ast.FunctionDef) else function)

    return visit(tree, tree)


def assigned(function, line):
    """Returns the message patterns that are assigned to names before a line: `msg = (…)`."""
    names = {}
    nodes = [node for node in ast.walk(function) if isinstance(node, ast.Assign) and node.lineno < line]
    for node in sorted(nodes, key=lambda node: node.lineno):
        for target in node.targets:
            if isinstance(target, ast.Name) and pattern(node.value, names):
                names[target.id] = pattern(node.value, names)
    return names


def pattern(node, names):
    """Returns the text of a message, with `{}` for each placeholder; None if the node is not a text."""
    match node:
        case ast.Constant(value=str(text)):
            return re.sub(r"\{[^{}]*\}", "{}", text)
        case ast.JoinedStr():
            return "".join(pattern(part, names) or "{}" for part in node.values)
        case ast.BinOp(op=ast.Add()):
            left, right = pattern(node.left, names), pattern(node.right, names)
            return (left or "{}") + (right or "{}") if left or right else None
        case ast.Attribute(attr="format"):
            return pattern(node.value, names)
        case ast.Call(func=ast.Attribute(attr="format")):
            return pattern(node.func.value, names)
        case ast.Subscript():
            return pattern(node.value, names)
        case ast.Call(args=[argument, *_]):
            return pattern(argument, names)
        case ast.List(elts=[first, *_]):
            return pattern(first, names)
        case ast.Name():
            return names.get(node.id)
    return None


def longest(node, names):
    texts = [pattern(part, names) for part in ast.walk(node) if isinstance(part, (ast.Constant, ast.JoinedStr, ast.BinOp))]
    return max(filter(None, texts), key=len, default=None)
