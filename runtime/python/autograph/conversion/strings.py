"""f-strings in converted code: `f"n = {n}"` becomes `ag__.joined("n = ", f"{n}")`, because Python
would join the parts to an ordinary string, which does not show that it contains values of the graph."""

import ast


class Joined(ast.NodeTransformer):
    def visit_JoinedStr(self, node):
        self.generic_visit(node)
        if len(node.values) < 2:
            return node
        parts = [
            part if isinstance(part, ast.Constant) else ast.copy_location(ast.JoinedStr([part]), part)
            for part in node.values
        ]
        operator = ast.copy_location(ast.Name("ag__", ast.Load()), node)
        call = ast.Call(ast.copy_location(ast.Attribute(operator, "joined", ast.Load()), node), parts, [])
        return ast.copy_location(call, node)

    def visit_FormattedValue(self, node):
        node.value = self.visit(node.value)  # a format must remain an f-string
        return node
