"""Origins: the positions in the user's code from which the nodes of a tree come."""

import ast
from typing import NamedTuple


class Origin(NamedTuple):
    """A range of a file. Lines count from one, columns from zero, in characters."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int


#: The attribute of a node that stores its origin. `copy.deepcopy` copies it.
_ATTRIBUTE = "ag_origin"


def origin_of(node):
    """Returns the origin of a node; None if it was created by a rewrite."""
    return getattr(node, _ATTRIBUTE, None)


def set_origin(node, origin):
    setattr(node, _ATTRIBUTE, origin)


def set_origins(tree, text, path, first_line=1):
    """Sets the origin of each node of a tree that was parsed from `text`, which starts at `first_line` of the file."""
    lines = text.splitlines() or [""]

    def column(line, offset):
        return len(lines[line - 1].encode()[:offset].decode(errors="ignore")) if line <= len(lines) else offset

    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            start = node.lineno + first_line - 1, column(node.lineno, node.col_offset)
            end = node.end_lineno + first_line - 1, column(node.end_lineno, node.end_col_offset)
            set_origin(node, Origin(path, *start, *end))
    return tree
