"""Patterns of `match` in converted code.

Python compares `case True` by identity, and `case int(n)` by class. A staged boolean is not `True`, and a staged number is
not an `int`. So these patterns become class patterns of the operators, which test staged values, too:
`case ag__.IsTrue()`, `case ag__.IsInt(n)`."""

import ast

_CONSTANTS = {True: "IsTrue", False: "IsFalse", None: "IsNone"}
_CLASSES = {"bool": "IsBool", "int": "IsInt", "float": "IsFloat"}


class Patterns(ast.NodeTransformer):
    def __init__(self, function):
        code = function.__code__
        bound = {*code.co_varnames, *code.co_cellvars, *code.co_freevars, *function.__globals__}
        self._classes = {name: pattern for name, pattern in _CLASSES.items() if name not in bound}

    def visit_MatchSingleton(self, node):
        return ast.copy_location(ast.MatchClass(_operator(_CONSTANTS[node.value], node), [], [], []), node)

    def visit_MatchClass(self, node):
        self.generic_visit(node)
        if isinstance(node.cls, ast.Name) and node.cls.id in self._classes:
            node.cls = _operator(self._classes[node.cls.id], node.cls)
        return node


def _operator(name, node):
    operators = ast.copy_location(ast.Name("ag__", ast.Load()), node)
    return ast.copy_location(ast.Attribute(operators, name, ast.Load()), node)
