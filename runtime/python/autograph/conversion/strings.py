"""Strings in converted code that may contain values of the graph.

`f"n = {n}"` becomes `ag__.joined("n = ", f"{n}")`, because Python would join the parts to an ordinary string;
`"n = %d" % n` becomes `ag__.percent("n = %d", n)`, because Python would need the number."""

import ast


class Strings(ast.NodeTransformer):
    def visit_JoinedStr(self, node):
        self.generic_visit(node)
        if len(node.values) < 2:
            return node
        parts = [
            part if isinstance(part, ast.Constant) else ast.copy_location(ast.JoinedStr([part]), part)
            for part in node.values
        ]
        return _call("joined", parts, node)

    def visit_FormattedValue(self, node):
        node.value = self.visit(node.value)  # a format must remain an f-string
        return node

    def visit_BinOp(self, node):
        self.generic_visit(node)
        is_text = isinstance(node.left, ast.Constant) and type(node.left.value) is str
        return _call("percent", [node.left, node.right], node) if is_text and isinstance(node.op, ast.Mod) else node


def _call(name, args, node):
    operator = ast.copy_location(ast.Name("ag__", ast.Load()), node)
    function = ast.copy_location(ast.Attribute(operator, name, ast.Load()), node)
    return ast.copy_location(ast.Call(function, args, []), node)
