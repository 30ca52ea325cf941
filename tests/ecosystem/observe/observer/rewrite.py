"""Rewrites a module so that it reports its functions, statements, conditions and exceptions to the probe.

    def f(x):                         def f(x):
        if x > 0:                         try:
            return x           ->             __ag_enter__(0)
                                              __ag_line__(1)
                                              if __ag_test__(2, x > 0):
                                                  __ag_line__(3)
                                                  return x
                                          except BaseException: __ag_raised__(); raise

`__ag_test__` returns its last argument unchanged. All positions are those of the original text. The rewriter also works
on trees of `gast`: AutoGraph's converter reads the original text, so `tensorflow_` rewrites the converter's tree, with
other functions as `calls`.
"""
import ast

# The recorded value of a decision: the tested value, or the iterable of a loop.
TEST, ITERATION = "test", "iteration"


class Sites:
    """Assigns a number to each rewritten location of one program."""

    def __init__(self):
        self.places = []
        self.numbers = {}

    def number(self, place):
        number = self.numbers.get(place)
        if number is None:
            number = self.numbers[place] = len(self.places)
            self.places.append(place)
        return number


class Rewriter(ast.NodeTransformer):
    def __init__(self, sites, position, calls, functions=True, exceptions=True):
        """`position(node)` is (file, line, column) of the original node, or None for a synthesized node;
        `calls(name, *arguments)` builds a call of the probe."""
        self.sites = sites
        self.position = position
        self.calls = calls
        self.functions = functions
        self.exceptions = exceptions
        self.enclosing = []
        self.quiet = 0

    def place(self, node, construct):
        position = self.position(node)
        if position is None:
            return None
        return self.sites.number((*position, construct, self.enclosing[-1] if self.enclosing else None))

    def probed(self, node, value, construct, kind=TEST):
        number = self.place(node, construct)
        if number is None or not self.enclosing:
            return value
        call = self.calls(kind, number, value)
        return located(call, value)

    # Functions

    def visit_FunctionDef(self, node):
        position = self.position(node)
        node.decorator_list = [self.visit(decorator) for decorator in node.decorator_list]
        self.visit(node.args)
        if position is None:
            return node
        file, line, _ = position
        self.enclosing.append(line)
        body = self.block(node.body)
        self.enclosing.pop()
        docstring = []
        if body and is_docstring(body[0]):
            docstring, body = body[:1], body[1:]
        number = self.sites.number((file, line, 1, "def " + node.name, None))
        enter = located(expression_statement(node, self.calls("enter", number)), node)
        body = [enter, *body]
        if self.exceptions:
            handler = ast.ExceptHandler(ast.Name("BaseException", ast.Load()), None, [
                ast.Expr(self.calls("raised")), ast.Raise(None, None)])
            body = [located(ast.Try(body, [handler], [], []), node)]
        node.body = docstring + body
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node):
        self.visit(node.args)
        position = self.position(node)
        if position is None:
            return node
        self.enclosing.append(position[1])
        node.body = self.visit(node.body)
        self.enclosing.pop()
        return node

    def visit_ClassDef(self, node):
        outer, self.enclosing = self.enclosing, []
        node.decorator_list = [self.visit(decorator) for decorator in node.decorator_list]
        node.body = self.block(node.body)
        self.enclosing = outer
        return node

    # Statements

    def block(self, statements):
        """Returns the rewritten statements, each after a call that records that it runs."""
        rewritten = []
        for statement in statements:
            if self.enclosing and not is_docstring(statement) and not isinstance(
                    statement, (ast.Global, ast.Nonlocal, ast.Pass)):
                position = self.position(statement)
                if position is not None:
                    number = self.sites.number((*position[:2], 1, "line", None))
                    rewritten.append(located(expression_statement(statement, self.calls("line", number)), statement))
            result = self.visit(statement)
            rewritten.extend(result if isinstance(result, list) else [result])
        return rewritten

    def generic_visit(self, node):
        for name, old in ast.iter_fields(node):
            if name in ("body", "orelse", "finalbody") and isinstance(old, list):
                setattr(node, name, self.block(old))
            elif isinstance(old, list):
                old[:] = [self.visit(item) if isinstance(item, ast.AST) else item for item in old]
            elif isinstance(old, ast.AST):
                setattr(node, name, self.visit(old))
        return node

    def visit_Module(self, node):
        node.body = self.block(node.body)
        return node

    def visit_If(self, node, construct="if"):
        node = self.generic_visit(node)
        node.test = self.probed(node, node.test, construct)
        return node

    def visit_While(self, node):
        return self.visit_If(node, "while")

    def visit_Assert(self, node):
        return self.visit_If(node, "assert")

    def visit_IfExp(self, node):
        return self.visit_If(node, "ifexp")

    def visit_For(self, node):
        node = self.generic_visit(node)
        node.iter = self.probed(node, node.iter, "for", ITERATION)
        return node

    def visit_comprehension(self, node):
        node = self.generic_visit(node)
        node.ifs = [self.probed(test, test, "comprehension_if") for test in node.ifs]
        return node

    def visit_BoolOp(self, node):
        # The last operand is the value of the expression; the expression does not test it.
        node = self.generic_visit(node)
        construct = type(node.op).__name__.lower()
        node.values[:-1] = [self.probed(node, value, construct) for value in node.values[:-1]]
        return node

    def visit_UnaryOp(self, node):
        node = self.generic_visit(node)
        if type(node.op).__name__ == "Not":
            node.operand = self.probed(node, node.operand, "not")
        return node

    # Annotations and patterns run in a different order from the text, or not at all.

    def visit_AnnAssign(self, node):
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_arg(self, node):
        return node

    def visit_match_case(self, node):
        if node.guard is not None:
            node.guard = self.visit(node.guard)
        node.body = self.block(node.body)
        return node


def is_docstring(statement):
    return isinstance(statement, ast.Expr) and type(statement.value).__name__ in ("Constant", "Str")


def expression_statement(like, call):
    """Returns `call` as a statement that belongs to the same library as `like` (`ast` or `gast`)."""
    return ast.Expr(call)


def located(new, old):
    """Sets the position of `new` and of its synthesized descendants to that of `old`."""
    for node in ast.walk(new):
        if "lineno" in node._attributes and getattr(node, "lineno", None) is None:
            ast.copy_location(node, old)
    return new


def python_calls(name, *arguments):
    """Returns a call of the probe's function, which is a builtin while a program is observed."""
    values = [argument if isinstance(argument, ast.AST) else ast.Constant(argument) for argument in arguments]
    return ast.Call(ast.Name(f"__ag_{name}__", ast.Load()), values, [])


def instrumented(source, path, sites):
    """Returns the rewritten tree of a module."""
    tree = ast.parse(source, path)
    text = source.decode("utf-8", "replace") if isinstance(source, bytes) else source
    lines = text.splitlines()

    def position(node):
        if getattr(node, "lineno", None) is None:
            return None
        column = node.col_offset
        line = lines[node.lineno - 1] if node.lineno <= len(lines) else ""
        if not line.isascii():
            column = len(line.encode()[:column].decode("utf-8", "replace"))
        return path, node.lineno, column + 1

    tree = Rewriter(sites, position, python_calls).visit(tree)
    return ast.fix_missing_locations(tree)
