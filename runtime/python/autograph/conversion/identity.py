"""Comparisons of identity in converted code.

`node.left is None` becomes `ag__.is_(node.left, None)`, because a node of a tree may be None on some paths of a graph, and
`found is True` becomes `ag__.is_(found, True)`, because a boolean may be staged. Comparisons with other literals remain."""

import ast

_OPERATORS = {ast.Is: "is_", ast.IsNot: "is_not"}


class Identity(ast.NodeTransformer):
    def visit_Compare(self, node):
        self.generic_visit(node)
        kind = _OPERATORS.get(type(node.ops[0]))
        operands = (node.left, *node.comparators)
        if len(node.ops) != 1 or kind is None or any(map(_is_other_literal, operands)):
            return node
        operator = ast.copy_location(ast.Name("ag__", ast.Load()), node)
        function = ast.copy_location(ast.Attribute(operator, kind, ast.Load()), node)
        return ast.copy_location(ast.Call(function, list(operands), []), node)


def _is_other_literal(operand):
    return isinstance(operand, ast.Constant) and not isinstance(operand.value, (bool, type(None)))
