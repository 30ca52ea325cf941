"""Handlers of exceptions in converted code.

`except Exception:` begins with `ag__.not_staging_error()`, because the original code does not raise the errors of a trace:
they are for its caller."""

import ast


class Handlers(ast.NodeTransformer):
    def visit_ExceptHandler(self, node):
        self.generic_visit(node)
        name = ast.Attribute(ast.Name("ag__", ast.Load()), "not_staging_error", ast.Load())
        check = ast.copy_location(ast.Expr(ast.Call(name, [], [])), node.body[0])
        node.body.insert(0, ast.fix_missing_locations(check))
        return node
