"""The messages of the raise statements in files of an installed package."""
import ast
import re
from pathlib import Path

#: The number of characters of a message that the name of its kind contains.
NAME_LENGTH = 60


def message(node):
    """Returns the message that an expression builds, with `{expression}` for each part that the source does not show."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(message(part) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return "{" + ast.unparse(node.value) + "}"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return re.sub(r"%[-\d.]*[srdfi]", "{}", message(node.left))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return message(node.left) + message(node.right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("format", "dedent"):
        return message(node.func.value if node.func.attr == "format" else node.args[0])
    return "{" + ast.unparse(node) + "}"


def bound(tree):
    """Returns the messages bound to names, as in `msg = "…"`."""
    messages = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            messages.setdefault(node.targets[0].id, []).append(message(node.value))
    return messages


def literal_length(text):
    return len(re.sub(r"\{[^}]*\}", "", text).strip())


def raised(error, names):
    """Returns the possible messages of an exception: several if its argument is a name."""
    texts = [message(argument) for argument in error.args]
    texts += [text for argument in error.args if isinstance(argument, ast.Name) for text in names.get(argument.id, [])]
    texts = [" ".join(text.split()) for text in texts]
    if any(isinstance(argument, ast.Name) for argument in error.args):
        return [text for text in texts if literal_length(text) > 8]
    longest = max(texts, key=literal_length, default="")
    return [longest] if literal_length(longest) > 8 else []


def kinds_of(package, patterns):
    """Returns a kind for each message of a raise statement in the files."""
    root, found = Path(package.__file__).parent, {}
    for path in sorted(path for pattern in patterns for path in root.glob(pattern)):
        if path.stem.endswith("_test"):
            continue
        tree = ast.parse(path.read_text())
        names = bound(tree)
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)):
                continue
            for text in raised(node.exc, names):
                name = f"{path.stem}: {text[:NAME_LENGTH].strip()}"
                if found.get(name, {"message": text})["message"] != text:
                    name += f" … {text[-NAME_LENGTH:].strip()}"
                source = f"{root.name}/{path.relative_to(root).as_posix()}"
                found.setdefault(name, {"kind": name, "source": source, "message": text})
    return list(found.values())
