"""Utilities for programs that rewrite Python (AutoGraph, appendix C): parse, quote, template, unparse, load.

The trees are those of the standard module `ast`. Each node keeps its origin in the user's code through every rewrite, so
the text of a tree has a source map.

    from autograph import source

    tree = source.parse(function)
    body = source.quote("a = x; b = y; return a + b")
    tree = source.template("def name(args): body", name="add", args=("x", "y"), body=body)
    source.unparse(tree)            # the text, with its map
    source.load(tree).add(1, 2)     # 3
"""

from .loading import load
from .parsing import parse, quote
from .origins import Origin
from .templates import template
from .text import Text, unparse

__all__ = ["Origin", "Text", "load", "parse", "quote", "template", "unparse"]
