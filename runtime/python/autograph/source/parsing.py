"""Parses functions, classes and text: returns their syntax trees."""

import ast
import functools
import inspect
import textwrap
import types

from ..errors import ConversionError
from .origins import set_origins

#: The file of code that is given as text.
TEXT = "<text>"


def parse(entity):
    """Returns the tree of a function, method, class or text, in an `ast.Module`.

    Raises a `ConversionError` if there is no source text, and a `SyntaxError` for an invalid text."""
    if isinstance(entity, str):
        text = textwrap.dedent(entity)
        return set_origins(ast.parse(text), text, TEXT)
    entity = _unwrapped(entity)
    try:
        lines, first = inspect.getsourcelines(entity)
        path = inspect.getsourcefile(entity) or TEXT
    except (OSError, TypeError):
        raise ConversionError(f"the source of {entity!r} was not found") from None
    tree = _parsed("".join(lines), path, max(first, 1))
    if getattr(entity, "__name__", None) == "<lambda>":
        return ast.Module([_lambda(tree, entity)], [])
    return tree


def _parsed(text, path, first):
    """Returns the tree of a definition, which may be indented. An indented definition is parsed inside an `if`, because
    removing the indentation would change strings of several lines."""
    if not text[:1].isspace():
        return set_origins(ast.parse(text), text, path, first)
    tree = set_origins(ast.parse("if True:\n" + text), "if True:\n" + text, path, first - 1)
    return ast.Module(tree.body[0].body, [])


def _unwrapped(entity):
    while True:
        if isinstance(entity, functools.partial):
            entity = entity.func
        elif hasattr(entity, "python_function"):
            entity = entity.python_function
        elif isinstance(entity, (types.MethodType, staticmethod, classmethod)):
            entity = entity.__func__
        else:
            return inspect.unwrap(entity) if callable(entity) else entity


def _lambda(tree, function):
    """Returns the lambda in a statement that has the parameters of a function. Raises an error unless there is exactly one."""
    code = function.__code__
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    def matches(node):
        arguments = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
        return tuple(argument.arg for argument in arguments) == parameters

    found = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda) and matches(node)]
    if len(found) != 1:
        raise ConversionError(f"there are {len(found)} lambdas like {function!r} in its statement; use a `def`")
    return ast.copy_location(ast.Expr(found[0]), found[0])


def quote(text):
    """Returns the tree of a piece of code: an expression, or a list of statements, which may contain `return` and `break`.

    >>> ast.dump(quote("a + 1").op)
    'Add()'
    """
    text = textwrap.dedent(text).strip("\n")
    try:
        return set_origins(ast.parse(text.strip(), mode="eval"), text.strip(), TEXT).body
    except SyntaxError:
        return set_origins(ast.parse(text), text, TEXT).body
