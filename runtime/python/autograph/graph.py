"""`python -m autograph.graph FILE QUALNAME --input x=f32[4,8]`: the graph of a function, for `ag-lsp graph`."""

import argparse
import ast
import importlib.util
import inspect
import os
import sys

import torch

from . import drawing
from .capture.record import parse_type
from .errors import AutographError
from .function import Function


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m autograph.graph", description=__doc__)
    parser.add_argument("file")
    parser.add_argument("qualname")
    parser.add_argument("--input", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--format", choices=["text", "json", "dot", "svg"], default="text")
    parser.add_argument("--passes", help="of the optimizer: all, or a list; none unless asked for")
    parser.add_argument("--output")
    options = parser.parse_args(arguments)
    try:
        function, owner = find(options.file, options.qualname)
        graph = staged(function, owner, options.input)
        if options.passes:
            graph = graph.optimized(None if options.passes == "all" else options.passes.split(","))
    except (AutographError, LookupError, TypeError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    text = drawing.written(graph, options.format)
    if options.output is None:
        print(text)
    else:
        with open(options.output, "w", encoding="utf-8") as file:
            file.write(text + "\n")
    return 0


def find(path, qualname):
    """The function of this name in a file, and the class it is a method of."""
    directory, name = os.path.split(os.path.abspath(path))
    sys.path.insert(0, directory)
    specification = importlib.util.spec_from_file_location(os.path.splitext(name)[0], path)
    if specification is None:
        raise LookupError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    found, owner = module, None
    for part in qualname.split("."):
        owner = found if isinstance(found, type) else None
        if not hasattr(found, part):
            raise LookupError(f"there is no `{qualname}` in {path}")
        found = getattr(found, part)
    return found, owner


def staged(function, owner, inputs):
    """The graph that a call with these inputs runs."""
    plain = function.python_function if isinstance(function, Function) else function
    given = {}
    for text in inputs:
        name, equals, value = text.partition("=")
        if not equals:
            raise ValueError(f"`{text}` is no NAME=VALUE")
        given[name.strip()] = argument(value.strip())
    parameters = list(inspect.signature(plain).parameters.values())
    positional = []
    if owner is not None and parameters and parameters[0].name not in given:
        positional.append(owner())
        parameters = parameters[1:]
    missing = [
        p.name
        for p in parameters
        if p.name not in given and p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    if missing:
        raise TypeError(f"no `--input` for {', '.join(missing)}")
    function = function if isinstance(function, Function) else Function(function)
    return function.trace(*positional, **given).graph


def argument(text):
    """A tensor from its type, anything else from its literal."""
    try:
        type = parse_type(text) if text.endswith("]") or "]@" in text else None
    except (KeyError, ValueError, RuntimeError):
        type = None
    if type is not None and not text.startswith("["):
        sizes = [2 if n is None else n for n in type.dims]
        return torch.zeros(sizes, dtype=type.dtype, device=type.device)
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        raise ValueError(f"`{text}` is neither the type of a tensor nor a Python literal") from None


if __name__ == "__main__":
    sys.exit(main())
