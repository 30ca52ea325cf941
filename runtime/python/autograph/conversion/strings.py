"""Strings in converted code that may contain values of the graph.

Python's own string operations do not know the values that placeholders stand for, so converted code calls operators.
`f"n = {n}"` becomes `ag__.joined("n = ", f"{n}")`, which does not join the parts to an ordinary string. `text in "abc"`
becomes `ag__.contains("abc", text)`, so that Python does not search for the placeholder. `f"{n!r}"` becomes
`f"{ag__.text(n, 'r')}"`, and `form % n` becomes `ag__.percent(form, n)`."""

import ast


class Strings(ast.NodeTransformer):
    def visit_JoinedStr(self, node):
        self.generic_visit(node)
        if not any(isinstance(part, ast.FormattedValue) for part in node.values):
            return node
        parts = [
            part if isinstance(part, ast.Constant) else ast.copy_location(ast.JoinedStr([part]), part)
            for part in node.values
        ]
        return _call("joined", parts, node)

    def visit_FormattedValue(self, node):
        node.value = self.visit(node.value)  # a format must remain an f-string
        if node.conversion != -1:
            conversion = ast.copy_location(ast.Constant(chr(node.conversion)), node.value)
            node.value, node.conversion = _call("text", [node.value, conversion], node.value), -1
        return node

    def visit_BinOp(self, node):
        self.generic_visit(node)
        return _call("percent", [node.left, node.right], node) if isinstance(node.op, ast.Mod) else node


    def visit_Compare(self, node):
        self.generic_visit(node)
        if len(node.ops) != 1 or not isinstance(node.ops[0], (ast.In, ast.NotIn)):
            return node
        found = _call("contains", [node.comparators[0], node.left], node)
        return found if isinstance(node.ops[0], ast.In) else ast.copy_location(ast.UnaryOp(ast.Not(), found), node)


def _call(name, args, node):
    operator = ast.copy_location(ast.Name("ag__", ast.Load()), node)
    function = ast.copy_location(ast.Attribute(operator, name, ast.Load()), node)
    return ast.copy_location(ast.Call(function, args, []), node)
