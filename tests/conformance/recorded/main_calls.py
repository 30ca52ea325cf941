"""The calls that record_eager.py (see `record_eager_slim.py`) runs: one per expression statement in a module's
`main()`.

The other statements of `main()` only prepare arguments and are not recorded. Because these calls are in
the module, a checker sees the same argument types at the call sites.
"""
import ast
import os
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Tuple

HERE = os.path.dirname(os.path.abspath(__file__))


@dataclass
class Call:
    root: str
    dialect: str
    fn: Callable
    args: Tuple = ()
    kwargs: Dict[str, Any] = field(default_factory=dict)


def main_of(path):
    with open(path) as file:
        tree = ast.parse(file.read())
    return next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "main")


def calls(module, dialect):
    names = dict(vars(module))
    path = os.path.join(HERE, module.__name__ + ".py")
    for statement in main_of(path).body:
        code = compile(ast.Module([statement], []), path, "exec")
        if isinstance(statement, ast.Expr):
            yield Call(ast.unparse(statement), dialect, exec, (code, names))
        else:
            exec(code, names)
