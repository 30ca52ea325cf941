"""Templates: code in which names stand for other code."""

import ast
import copy
import keyword

from .parsing import parse
from .origins import origin_of, set_origin


def template(code, **replacements):
    """Returns the statements of a text, with code in place of names.

    A replacement is a name (a string), an expression, a statement, or a list or tuple of these. Any replacement can stand
    for a statement that consists of the name. A list of names or expressions can stand for parameters or arguments. In all
    other places (in an expression; as the name of a definition, an attribute or a keyword) the replacement must be one
    expression or name. Replacements are copied, so a name can occur several times.

    Raises a `ValueError` if a name does not occur in the text, or if its replacement does not fit."""
    tree = parse(code) if isinstance(code, str) else copy.deepcopy(code)
    filler = _Filler({name: _checked(name, value) for name, value in replacements.items()})
    filler.visit(tree)
    missing = sorted(replacements.keys() - filler.used)
    if missing:
        raise ValueError(f"the template has no name {', '.join(f'`{name}`' for name in missing)}")
    return tree


def _checked(name, value):
    """Returns the replacement as a list of nodes."""
    items = list(value) if isinstance(value, (list, tuple)) else [value]
    if isinstance(value, ast.Module):
        items = value.body
    return [_node(name, item) for item in items]


def _node(name, item):
    if isinstance(item, str):
        if not item.isidentifier() or keyword.iskeyword(item):
            raise ValueError(f"the replacement of `{name}`, {item!r}, is not a name; use `quote` for other code")
        return ast.Name(item, ast.Load())
    if isinstance(item, (ast.expr, ast.stmt, ast.arg)):
        return item
    raise ValueError(f"the replacement of `{name}` is {type(item).__name__}; expected names, expressions or statements")


class _Context(ast.NodeTransformer):
    """Sets the context of an expression: whether it is read, assigned or deleted."""

    def __init__(self, context):
        self.context = context

    def visit(self, node):
        if isinstance(node, (ast.Tuple, ast.List, ast.Starred)):
            super().generic_visit(node)
        if hasattr(node, "ctx"):
            node.ctx = self.context
        return node


class _Filler(ast.NodeTransformer):
    def __init__(self, replacements):
        self.replacements = replacements
        self.used = set()

    # Replacements of names.

    def _of(self, name):
        """Returns copies of the nodes that replace a name; None if the name stands for itself."""
        found = self.replacements.get(name)
        if found is None:
            return None
        self.used.add(name)
        return copy.deepcopy(found)

    def _one(self, name, kind, what):
        found = self._of(name)
        if found is None:
            return None
        if len(found) != 1 or not isinstance(found[0], kind):
            raise ValueError(f"the replacement of `{name}` must be {what}")
        return found[0]

    def _name(self, name):
        """Returns the new name of a definition, an attribute or a keyword."""
        node = self._one(name, ast.Name, "a name")
        return name if node is None else node.id

    # Nodes that contain names.

    def visit_Expr(self, node):
        found = self._of(node.value.id) if isinstance(node.value, ast.Name) else None
        if found is None:
            return self.generic_visit(node)
        if any(isinstance(item, ast.arg) for item in found):
            raise ValueError(f"the replacement of `{node.value.id}` must be statements or expressions")
        return [item if isinstance(item, ast.stmt) else ast.copy_location(ast.Expr(item), node) for item in found]

    def visit_Name(self, node):
        found = self._one(node.id, ast.expr, "an expression")
        if found is None:
            return node
        if not isinstance(node.ctx, ast.Load) and not isinstance(found, _TARGETS):
            raise ValueError(f"the replacement of `{node.id}` is assigned, so it must be a name, an attribute, an item or a tuple")
        found = _Context(node.ctx).visit(found)
        return _located(found, node)

    def visit_Call(self, node):
        node.args = [item for argument in node.args for item in self._arguments(argument)]
        node.func = self.visit(node.func)
        for given in node.keywords:
            given.arg = given.arg and self._name(given.arg)
            given.value = self.visit(given.value)
        return node

    def _arguments(self, argument):
        found = self._of(argument.id) if isinstance(argument, ast.Name) else None
        if found is None:
            return [self.visit(argument)]
        if not all(isinstance(item, ast.expr) for item in found):
            raise ValueError(f"the replacement of `{argument.id}` must be expressions")
        return [_located(item, argument) for item in found]

    def visit_arguments(self, node):
        for field in ("posonlyargs", "args", "kwonlyargs"):
            setattr(node, field, [item for parameter in getattr(node, field) for item in self._parameters(parameter)])
        return self.generic_visit(node)

    def _parameters(self, parameter):
        found = self._of(parameter.arg)
        if found is None:
            return [parameter]
        if not all(isinstance(item, (ast.Name, ast.arg)) for item in found):
            raise ValueError(f"the replacement of `{parameter.arg}` must be names of parameters")
        parameters = [ast.arg(item.id) if isinstance(item, ast.Name) else item for item in found]
        return [_located(item, parameter) for item in parameters]

    def visit_definition(self, node):
        node.name = self._name(node.name)
        return self.generic_visit(node)

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_definition

    def visit_Attribute(self, node):
        node.attr = self._name(node.attr)
        return self.generic_visit(node)


_TARGETS = ast.Name, ast.Attribute, ast.Subscript, ast.Tuple, ast.List, ast.Starred


def _located(node, at):
    """Returns a node that replaces the name `at`. Nodes in it that have no origin of their own get the origin of the name."""
    for inner in ast.walk(node):
        if "lineno" in inner._attributes and not hasattr(inner, "lineno"):
            ast.copy_location(inner, at)
            if origin_of(at) is not None:
                set_origin(inner, origin_of(at))
    return node
