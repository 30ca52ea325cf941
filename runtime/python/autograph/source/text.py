"""From trees to text."""

import ast
import bisect

from .origins import origin_of


class Text(str):
    """The text of a tree. `map` contains (line, column, end line, end column, `Origin`) for each node that comes from the
    user's code, in the order of the text. Lines count from one, columns from zero, in characters."""

    def __new__(cls, text, map):
        self = super().__new__(cls, text)
        self.map = map
        return self

    def origin(self, line, column=0):
        """Returns the origin of the code at a position; None if it was created by a rewrite."""
        position = line, column
        around = [entry for entry in self.map if entry[:2] <= position < entry[2:4]]
        if not around:
            after = bisect.bisect_left(self.map, (line, 0), key=lambda entry: entry[:2])
            around = [entry for entry in self.map[after : after + 1] if entry[0] == line]
        return around[-1][-1] if around else None


def unparse(tree):
    """Returns the text of a tree, a node or a list of statements, with its source map."""
    if isinstance(tree, list):
        tree = ast.Module(tree, [])
    text = ast.unparse(ast.fix_missing_locations(tree))
    again = ast.parse(text, mode="eval" if isinstance(tree, ast.Expression) else "exec")
    if isinstance(tree, ast.stmt):
        again = again.body[0]
    elif isinstance(tree, ast.expr):
        again = again.body[0].value
    lines, found = text.splitlines(), []
    for node, written in _pairs(tree, again):
        origin = origin_of(node)
        if origin is not None and hasattr(written, "lineno"):
            start = written.lineno, _characters(lines, written.lineno, written.col_offset)
            end = written.end_lineno, _characters(lines, written.end_lineno, written.end_col_offset)
            found.append((*start, *end, origin))
    return Text(text, sorted(found, key=lambda entry: (*entry[:2], -entry[2], -entry[3])))


def _characters(lines, line, offset):
    return len(lines[line - 1].encode()[:offset].decode())


def _pairs(tree, again):
    """Yields pairs of corresponding nodes of `tree` and of `again`, which was parsed from the text of `tree`. Parts
    with different structures, such as adjacent string literals, are omitted."""
    pending = [(tree, again)]
    while pending:
        node, written = pending.pop()
        if type(node) is not type(written):
            continue
        yield node, written
        children = list(ast.iter_child_nodes(node)), list(ast.iter_child_nodes(written))
        if len(children[0]) == len(children[1]):
            pending += zip(*children)
