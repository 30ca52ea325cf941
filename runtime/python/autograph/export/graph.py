"""The graphs of the runtime as plain data, for the modules that write them in other formats.

A graph is read from its S-expression (`Graph.sexpr`), which represents the graph completely.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any

import torch

from ..record.types import DTYPES

#: The types without parameters.
INT, FLOAT, BOOL, STR, NONE, ANY = "int", "float", "bool", "str", "none", "any"


@dataclass(frozen=True)
class Tensor:
    dtype: torch.dtype
    #: The size of each dimension: an integer, the name of a symbol, or `?`. None if the rank is unknown.
    shape: tuple | None
    device: torch.device


@dataclass(frozen=True)
class List:
    element: Any


@dataclass(frozen=True)
class Tuple:
    items: tuple


@dataclass(frozen=True)
class Value:
    number: int
    name: str
    type: Any


@dataclass
class Region:
    params: list
    nodes: list
    results: list


@dataclass
class Node:
    op: str
    #: The parameter of the operation: the index of `tuple.get`, the class of `raise`, the function of `call`, the index of the
    #: callback of `python`.
    detail: Any
    operands: list
    outputs: list
    regions: list
    span: tuple | None
    grad: bool
    #: The binding of the node in the S-expression.
    tree: list = field(repr=False, default=None)


@dataclass
class Function:
    name: str
    params: list
    types: list
    body: Region


@dataclass
class Graph:
    files: list = field(default_factory=list)
    functions: list = field(default_factory=list)

    @property
    def entry(self):
        return self.functions[0]


def read(text):
    """Returns the graph with this S-expression."""
    return of_tree(tree_of(text))


def of_tree(tree):
    """Returns the graph with this S-expression, which `tree_of` has parsed."""
    _, _version, *parts = tree
    graph = Graph([part[2] for part in parts if part[0] == "file"])
    graph.functions = [_Reader(graph.files).function(part) for part in parts if part[0] == "def"]
    return graph


def values(operand):
    """Yields the values in an operand, from left to right."""
    if isinstance(operand, Value):
        yield operand
    elif isinstance(operand, list):
        for item in operand:
            yield from values(item)


def nodes(region):
    """Yields the nodes of a region, and those of the regions nested in it."""
    for node in region.nodes:
        yield node
        for inner in node.regions:
            yield from nodes(inner)


def type_of(operand):
    """Returns the type of an operand. The element type of a list is that of its first item."""
    if isinstance(operand, Value):
        return operand.type
    if isinstance(operand, list):
        return List(type_of(operand[0]) if operand else ANY)
    return {bool: BOOL, int: INT, float: FLOAT, str: STR, type(None): NONE}.get(type(operand), ANY)


class Symbol(str):
    """A symbol of an S-expression, as opposed to a quoted string."""


_TOKEN = re.compile(r'[()]|"(?:[^"\\]|\\.)*"|[^\s()]+')


def tree_of(text):
    """Parses an S-expression to nested lists. Strings become `str`; all other words become `Symbol`."""
    stack = [[]]
    for token in _TOKEN.findall(text):
        if token == "(":
            stack.append([])
        elif token == ")":
            closed = stack.pop()
            stack[-1].append(closed)
        else:
            stack[-1].append(json.loads(token) if token[0] == '"' else Symbol(token))
    return stack[0][0]


def text_of(tree):
    """The inverse of `tree_of`."""
    if isinstance(tree, list):
        return f"({' '.join(map(text_of, tree))})"
    return tree if isinstance(tree, Symbol) else json.dumps(tree, ensure_ascii=False)


#: Name of an operation with a parameter -> the type of the parameter.
_DETAILS = {"tuple.get": int, "python": int, "start": int, "raise": str, "call": str}


class _Reader:
    """Reads one function."""

    def __init__(self, files):
        self.files = files
        self.values = {}

    def function(self, tree):
        _, name, params, types, body = tree
        params = [self.definition(param) for param in params]
        return Function(name, params, [_type(text) for text in types], self.body(params, body))

    def definition(self, tree):
        text, type = tree[:2]
        name, dot, number = text.rpartition(".")
        value = Value(int(number if dot else text[1:]), name, _type(type))
        self.values[text] = value
        return value

    def body(self, params, tree):
        _, bindings, (_, *results) = tree
        nodes = [self.node(binding) for binding in bindings]
        return Region(params, nodes, [self.operand(result) for result in results])

    def node(self, tree):
        outputs, (op, *operands), *marks = tree
        detail = _DETAILS[op](operands.pop(0)) if op in _DETAILS else None
        regions = [operand for operand in operands if _is(operand, "lambda")]
        operands = [self.operand(operand) for operand in operands if not _is(operand, "lambda")]
        regions = [self.body([self.definition(param) for param in params], body) for _, params, body in regions]
        outputs = [self.definition(output) for output in outputs]
        span = next((self.span(*map(int, mark[1:])) for mark in marks if _is(mark, "at")), None)
        return Node(str(op), detail, operands, outputs, regions, span, "nograd" not in marks, tree)

    def span(self, file, *place):
        return self.files[file], *place

    def operand(self, tree):
        if isinstance(tree, list):
            if tree[0] == "write":
                return self.operand(tree[2])
            return [self.operand(item) for item in tree[1:]]
        if not isinstance(tree, Symbol):
            return tree
        return self.values[tree] if tree in self.values else _literal(tree)


def _is(tree, head):
    return isinstance(tree, list) and bool(tree) and tree[0] == head


_WORDS = {"none": None, "true": True, "false": False}
_DTYPES = {name: dtype for dtype, name in DTYPES.items()}
_CONSTANTS = {"dtype": _DTYPES.get, "device": torch.device}


def _literal(text):
    if text in _WORDS:
        return _WORDS[text]
    kind, colon, name = text.partition(":")
    if colon:
        return _CONSTANTS.get(kind, torch.__dict__.get)(name)
    return int(text) if re.fullmatch(r"-?\d+", text) else float(text)


def _type(text):
    """Returns the type with this text: `tuple[int,f32[4,?]@cuda:0]`."""
    head, bracket, rest = text.partition("[")
    if not bracket:
        return str(text)
    inside, _, device = rest.rpartition("]")
    if head == "list":
        return List(_type(inside))
    if head == "tuple":
        return Tuple(tuple(_type(part) for part in _split(inside)))
    shape = None if inside == "*" else tuple(int(d) if d.isdigit() else str(d) for d in inside.split(",") if d)
    return Tensor(_DTYPES[head], shape, torch.device(device[1:] or "cpu"))


def _split(text):
    """Splits a text at the commas that are not in brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "[") - (letter == "]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part for part in parts if part]
