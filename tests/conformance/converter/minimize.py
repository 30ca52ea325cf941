"""Minimizes a program while it still behaves differently after conversion."""

import ast
import copy
import types


def _children(node):
    """Yields the child expressions that can replace a node."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr) and isinstance(getattr(child, "ctx", ast.Load()), ast.Load):
            yield child


def _smaller_statements(body, at):
    """Yields the blocks of the statement `body[at]`; each block can replace the statement."""
    statement = body[at]
    blocks = [getattr(statement, field, []) for field in ("body", "orelse", "finalbody")]
    blocks += [handler.body for handler in getattr(statement, "handlers", [])]
    blocks += [case.body for case in getattr(statement, "cases", [])]
    yield from (block for block in blocks if block and isinstance(block, list))


def variants(tree):
    """Yields smaller trees, largest reduction first. Modifies `tree` in place and restores it afterwards."""
    bodies = [
        (node, field)
        for node in ast.walk(tree)
        for field in ("body", "orelse", "finalbody", "handlers", "cases", "items", "decorator_list", "generators", "ifs", "keywords")
        if isinstance(getattr(node, field, None), list)
    ]
    for node, field in bodies:
        whole = getattr(node, field)
        size = len(whole)
        while size:
            for start in range(0, len(whole), size):
                left = whole[:start] + whole[start + size :]
                if not left and field in ("body", "cases", "items", "generators"):
                    if field != "body" or isinstance(node, ast.Module) or isinstance(whole[0], ast.Pass):
                        continue
                    left = [ast.Pass()]
                setattr(node, field, left)
                yield
                setattr(node, field, whole)
            size //= 2
        if field in ("body", "orelse", "finalbody") and not isinstance(whole, ast.expr):
            for at in range(len(whole)):
                for block in _smaller_statements(whole, at):
                    setattr(node, field, whole[:at] + block + whole[at + 1 :])
                    yield
                    setattr(node, field, whole)
    for node in list(ast.walk(tree)):
        for field, value in ast.iter_fields(node):
            if field in ("returns", "annotation", "type_comment", "msg", "cause", "optional_vars", "guard") and value is not None:
                setattr(node, field, None)
                yield
                setattr(node, field, value)
            values = value if isinstance(value, list) else [value]
            for at, old in enumerate(values):
                if not isinstance(old, ast.expr) or not isinstance(getattr(old, "ctx", ast.Load()), ast.Load):
                    continue
                if isinstance(value, list) and field in ("elts", "args", "defaults", "values", "comparators"):
                    if field == "elts" or (field == "args" and isinstance(node, ast.Call)):
                        setattr(node, field, values[:at] + values[at + 1 :])
                        yield
                        setattr(node, field, value)
                simple = [ast.Constant(1), ast.Constant(None)] if not isinstance(old, ast.Constant) else []
                for new in [*simple, *_children(old)]:
                    if isinstance(old, ast.Starred) or isinstance(node, (ast.JoinedStr, ast.FormattedValue)):
                        continue
                    setattr(node, field, values[:at] + [new] + values[at + 1 :] if isinstance(value, list) else new)
                    yield
                    setattr(node, field, value)


def minimize(program, differs, attempts=1500):
    """Returns the smallest program found with `differs(program)`. Removes comments and layout first if they are irrelevant."""

    def made(text, calls=None):
        return types.SimpleNamespace(text=text, calls=program.calls if calls is None else calls, globals=getattr(program, "globals", ()))

    for call in program.calls:
        if differs(made(program.text, [call])):
            program = made(program.text, [call])
            break
    try:
        tree = ast.parse(program.text)
    except SyntaxError:
        return program
    if not differs(made(ast.unparse(tree) + "\n")):
        return _fewer_lines(program, differs, made)
    progress = True
    while progress and attempts > 0:
        progress = False
        for _ in variants(tree):
            attempts -= 1
            try:
                text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
                compile(text, "candidate.py", "exec")
            except (SyntaxError, ValueError, AttributeError, TypeError):
                continue
            if len(text) < len(program.text) and differs(made(text)):
                program, progress = made(text), True
                tree = copy.deepcopy(tree)
                break
            if attempts <= 0:
                break
    return program


def _fewer_lines(program, differs, made):
    """Removes lines, for differences that depend on the layout."""
    lines = program.text.splitlines(keepends=True)
    size = len(lines) // 2
    while size:
        start = 0
        while start < len(lines):
            left = lines[:start] + lines[start + size :]
            text = "".join(left)
            try:
                compile(text, "candidate.py", "exec")
                if differs(made(text)):
                    lines = left
                    continue
            except SyntaxError:
                pass
            start += size
        size //= 2
    return made("".join(lines))
