"""Mutation tests of the harness: faults that are typical of converters are injected into programs, and must be
detected."""

import ast
import pathlib
import subprocess
import sys
import warnings

import converter
from generate import program
from side_by_side import compare

STDLIB = pathlib.Path(__file__).resolve().with_name("stdlib.py")


class Fault(ast.NodeTransformer):
    """No fault: the program is only unparsed."""


class EagerLogic(Fault):
    """`a and b` always evaluates b."""

    def visit_BoolOp(self, node):
        self.generic_visit(node)
        function = "min" if isinstance(node.op, ast.And) else "max"
        return ast.Call(ast.Name(function, ast.Load()), node.values, [ast.keyword("key", ast.Name("bool", ast.Load()))])


class MiddleTwice(Fault):
    """`a < b < c` evaluates b twice."""

    def visit_Compare(self, node):
        self.generic_visit(node)
        terms = [node.left, *node.comparators]
        pairs = zip(terms, node.ops, terms[1:])
        compared = [ast.Compare(left, [op], [right]) for left, op, right in pairs]
        return ast.BoolOp(ast.And(), compared) if len(compared) > 1 else node


class NoLoopElse(Fault):
    """The else of a loop is removed."""

    def visit_For(self, node):
        self.generic_visit(node)
        node.orelse = []
        return node

    visit_While = visit_For


class TestTwice(Fault):
    """The test of an `if` is evaluated twice."""

    def visit_If(self, node):
        self.generic_visit(node)
        node.test = ast.BoolOp(ast.And(), [node.test, node.test])
        return node


class NoDelete(Fault):
    """`del x` does nothing."""

    def visit_Delete(self, node):
        return ast.Pass()


class ContinueLeaves(Fault):
    """A `continue` exits the loop."""

    def visit_Continue(self, node):
        return ast.Break()


class NoFinallyOnReturn(Fault):
    """`finally` only runs after an exception."""

    def visit_Try(self, node):
        self.generic_visit(node)
        if node.finalbody and (node.handlers or node.orelse):
            after, node.finalbody = node.finalbody, []
            return [node, *after] if node.handlers else node
        return node


def broken(fault):
    def convert(text, extra=()):
        tree = ast.fix_missing_locations(fault().visit(ast.parse(text)))
        return ast.unparse(tree), {}

    return convert


def wrong_lines(text, extra=()):
    return text, {line: [line + 1] for line in range(1, text.count("\n") + 2)}


def found(convert, programs):
    converter.convert = convert
    return sum(difference is not None for _, difference, _ in compare(programs))


def main():
    warnings.simplefilter("ignore")
    programs = [program("selftest", i) for i in range(300)]
    faults = {fault.__name__: broken(fault) for fault in Fault.__subclasses__()}
    faults["wrong lines"] = wrong_lines
    missed = 0
    if found(broken(Fault), programs):
        print("correct programs are reported")
        missed += 1
    for name, convert in faults.items():
        n = found(convert, programs)
        print(f"{name}: detected in {n} of {len(programs)} programs")
        missed += n == 0
    if subprocess.run([sys.executable, STDLIB, "heapq", "test.test_missing"], capture_output=True).returncode != 1:
        print("stdlib.py passes without the tests of CPython")
        missed += 1
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
