"""Places: the positions in the user's code from which the nodes of a tree come."""

import ast
from typing import NamedTuple


class Place(NamedTuple):
    """A range of a file. Lines count from one, columns from zero, in characters."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int


#: The attribute of a node that stores its place. `copy.deepcopy` copies it.
_ATTRIBUTE = "ag_place"


def place_of(node):
    """Returns the place of a node; None if it was created by a rewrite."""
    return getattr(node, _ATTRIBUTE, None)


def set_place(node, place):
    setattr(node, _ATTRIBUTE, place)


def mark(tree, text, path, first_line=1):
    """Sets the place of each node of a tree that was parsed from `text`, which starts at `first_line` of the file."""
    lines = text.splitlines() or [""]

    def column(line, offset):
        return len(lines[line - 1].encode()[:offset].decode(errors="ignore")) if line <= len(lines) else offset

    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            start = node.lineno + first_line - 1, column(node.lineno, node.col_offset)
            end = node.end_lineno + first_line - 1, column(node.end_lineno, node.end_col_offset)
            set_place(node, Place(path, *start, *end))
    return tree
