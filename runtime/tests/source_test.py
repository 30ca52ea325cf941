"""Utilities for programs that rewrite Python: syntax trees, templates, text with its source map, and modules."""

import ast
import functools
import random
from pathlib import Path

import pytest
import torch

import autograph as ag
from autograph import source


def add(a, b):
    """A text
that is not indented."""
    return a + b  # a comment


class Scaled:
    def scale(self, x, *, by=2):
        return x * by


def lines_of(function):
    return Path(__file__).read_text().splitlines()[function.__code__.co_firstlineno - 1 :]


# Trees.


@pytest.mark.parametrize("entity", [add, Scaled, Scaled.scale, Scaled().scale, functools.partial(add, 1), ag.function(add)])
def test_the_tree_of_an_entity(entity):
    tree = source.parse(entity)
    assert isinstance(tree, ast.Module) and len(tree.body) == 1
    assert tree.body[0].name in ("add", "Scaled", "scale")


def test_origins_are_those_of_the_file():
    (definition,) = source.parse(Scaled.scale).body
    (origin,) = {origin for *_, origin in source.unparse(definition.body[0]).map if origin.column == 8}
    lines = Path(__file__).read_text().splitlines()
    assert origin.path == __file__ and lines[origin.line - 1] == "        return x * by"


def test_the_text_of_a_string_is_kept():
    assert ast.get_docstring(source.parse(add).body[0], clean=False) == add.__doc__


def test_a_lambda():
    double = lambda x: x * 2  # noqa: E731
    assert source.unparse(source.parse(double)) == "lambda x: x * 2"
    pair = (lambda x: x + 1), (lambda x: x + 2)
    with pytest.raises(ag.ConversionError, match="2 lambdas"):
        source.parse(pair[0])


def test_code_without_a_source():
    with pytest.raises(ag.ConversionError, match="was not found"):
        source.parse(eval("lambda x: x"))
    with pytest.raises(ag.ConversionError, match="was not found"):
        source.parse(len)
    with pytest.raises(SyntaxError):
        source.parse("a = = b")


def test_quote():
    assert isinstance(source.quote("a + b"), ast.BinOp)
    assert [type(s) for s in source.quote("a = x; return a")] == [ast.Assign, ast.Return]


# Templates (appendix C).


def test_the_example_of_the_paper():
    body = source.quote("""
        a = x
        b = y
        return a + b
    """)
    tree = source.template("def fn(args):\n    body", fn="my_function", args=("x", "y"), body=body)
    assert source.unparse(tree) == "def my_function(x, y):\n    a = x\n    b = y\n    return a + b"
    assert source.load(tree).my_function(1, 2) == 3


def test_names_stand_for_names_expressions_and_arguments():
    tree = source.template(
        "target = f(args, key=value).member\ndel target",
        target=source.quote("x[0]"),
        f=source.quote("lambda *v, **k: v"),
        args=("a", source.quote("b + 1")),
        key="name",
        value=source.quote("1 if c else 2"),
        member="real",
    )
    assert source.unparse(tree) == "x[0] = (lambda *v, **k: v)(a, b + 1, name=1 if c else 2).real\ndel x[0]"


def test_a_replacement_is_copied():
    value = source.quote("[]")
    tree = source.template("a = value; b = value", value=value)
    first, second = (statement.value for statement in tree.body)
    assert first is not second and first is not value


@pytest.mark.parametrize(
    ("code", "replacements", "message"),
    [
        ("x = 1", {"y": "z"}, "no name `y`"),
        ("x = 1", {"x": "a b"}, "'a b', is not a name"),
        ("x = 1", {"x": "class"}, "'class', is not a name"),
        ("x = 1", {"x": source.quote("f()")}, "is assigned"),
        ("y = x + 1", {"x": ("a", "b")}, "must be an expression"),
        ("y = x + 1", {"x": source.quote("pass")}, "must be an expression"),
        ("def f(): pass", {"f": source.quote("a.b")}, "must be a name"),
        ("def f(a): pass", {"a": source.quote("1 + 1")}, "names of parameters"),
        ("f(a)", {"a": source.quote("pass")}, "must be expressions"),
        ("x = 1", {"x": 3}, "is int"),
    ],
)
def test_replacements_that_do_not_fit(code, replacements, message):
    with pytest.raises(ValueError, match=message):
        source.template(code, **replacements)


# Text and its map.


def test_the_map_survives_rewrites():
    tree = source.template("def wrapped(parameters):\n    before\n    body", wrapped="add", parameters=("a", "b"), before=source.quote("print(a)"), body=source.parse(add).body[0].body)
    text = source.unparse(tree)
    line = next(number for number, line in enumerate(text.splitlines(), 1) if "return" in line)
    assert text.origin(line, 4).path == __file__
    assert Path(__file__).read_text().splitlines()[text.origin(line, 4).line - 1] == "    return a + b  # a comment"
    assert text.origin(2, 4).path == "<text>"


def test_generated_code_has_no_origin():
    tree = source.parse("a = b")
    tree.body[0].value = ast.Name("c", ast.Load())
    text = source.unparse(tree)
    assert text == "a = c" and text.origin(1, 0).line == 1
    assert [entry for entry in text.map if entry[1] == 4] == []


def test_columns_are_characters():
    text = source.unparse(source.quote("'\u00e4' + x"))
    ((*_, origin),) = [entry for entry in text.map if entry[1] == 6]
    assert (origin.column, origin.end_column) == (6, 7)


SOURCES = sorted((Path(__file__).parents[2] / "tests" / "examples").rglob("*.py"))


@pytest.mark.parametrize("path", random.Random(1).sample(SOURCES, 8), ids=lambda path: path.name)
def test_files_are_written_back(path):
    """The written text parses to the same tree, and the map leads from each name to the same name in the file."""
    original = path.read_text()
    text = source.unparse(source.parse(original))
    assert ast.dump(ast.parse(text)) == ast.dump(ast.parse(original))
    written, read = text.splitlines(), original.splitlines()
    names = 0
    for line, column, end_line, end_column, origin in text.map:
        found = written[line - 1][column:end_column]
        if line == end_line and found.isidentifier():
            names += 1
            assert read[origin.line - 1][origin.column : origin.end_column] == found
    assert names > 10


# Modules.


def test_loaded_code_is_staged():
    tree = source.template("def name(x):\n    if x.sum() > limit:\n        body\n    return x", name="f", limit=source.quote("1.5"), body=source.quote("x = x * 2"))
    function = ag.function(source.load(tree).f)
    assert function(torch.tensor([2.0])) == 4 and function(torch.tensor([1.0])) == 1
    assert "if(" in function.graph(torch.tensor([2.0]))


def test_loaded_code_uses_variables_and_shows_its_text():
    module = source.load(source.quote("def f():\n    return limit / 0"), limit=3)
    with pytest.raises(ZeroDivisionError) as found:
        module.f()
    assert str(found.traceback[-1].statement).strip() == "return limit / 0"
    assert module.__text__.origin(2, 4).line == 2
