"""Comparisons of identity in converted code.

`node.left is None` becomes `ag__.is_(node.left, None)`, because a node of a tree may be None on some paths of a graph.
Comparisons with a literal other than None, such as `x is True`, remain."""

import ast

_OPERATORS = {ast.Is: "is_", ast.IsNot: "is_not"}


class Identity(ast.NodeTransformer):
    def visit_Compare(self, node):
        self.generic_visit(node)
        kind = _OPERATORS.get(type(node.ops[0]))
        operands = (node.left, *node.comparators)
        if len(node.ops) != 1 or kind is None or any(isinstance(o, ast.Constant) and o.value is not None for o in operands):
            return node
        operator = ast.copy_location(ast.Name("ag__", ast.Load()), node)
        function = ast.copy_location(ast.Attribute(operator, kind, ast.Load()), node)
        return ast.copy_location(ast.Call(function, list(operands), []), node)
