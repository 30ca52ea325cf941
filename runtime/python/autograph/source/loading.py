"""From trees to modules."""

import itertools
import linecache
import types

from .text import unparse

_NUMBERS = itertools.count()


def load(tree, name="loaded", **variables):
    """Returns a module with the definitions of a tree, which may use the given variables.

    Tracebacks, debuggers and `@ag.function` find the text of the tree. It is also the attribute `__text__` of the module, a
    `Text` that maps its lines to the user's code."""
    text = unparse(tree)
    path = f"<{name} {next(_NUMBERS)}>"
    linecache.cache[path] = len(text), None, text.splitlines(keepends=True), path
    module = types.ModuleType(name)
    vars(module).update(variables, __file__=path, __text__=text)
    exec(compile(text, path, "exec", dont_inherit=True), vars(module))
    return module
