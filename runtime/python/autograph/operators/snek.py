"""The operators that code converted with `ag-lsp convert --dialect snek` calls (Snek, section 3 and figure 8).

Their arguments are functions, one for each block of a statement. The variables that a block assigns are the cells of
its function, so the operators read and assign the state of a staged statement through these cells.
"""

import dis
import functools
import sys
import types
from contextlib import contextmanager

from ..capture.staging import current, is_staged
from ..capture.unbound import Maybe, Undefined, UndefinedReturnValue
from ..conversion import spans
from ..errors import StagingError
from .for_stmt import for_stmt
from .if_exp import and_ as _and
from .if_exp import if_exp as _if_exp
from .if_exp import not_ as _not
from .if_exp import or_ as _or
from .if_stmt import if_stmt
from .regions import decided_on_error
from .variables import ld as _ld
from .variables import ldu as _ldu
from .variables import resolve_return, returned
from .while_stmt import while_stmt

__all__ = [
    "NonLocalReturnValue", "_UndefinedReturnValue", "_and", "_for", "_if", "_if_exp", "_ld", "_ldu", "_not", "_or", "_return",
    "_while",
]  # fmt: skip

_UndefinedReturnValue = UndefinedReturnValue


class NonLocalReturnValue(BaseException):
    """Raised in a block to leave its function, with the return value."""

    def __init__(self, value):
        super().__init__(value)
        self.value = value
        self.depth = _depth()


def _depth():
    """Returns the number of regions of the graph around the code that runs."""
    staging = current()
    return 0 if staging is None else staging.depth


def _return(value):
    if isinstance(value, Maybe):
        value = resolve_return(current(), value, sys._getframe(1).f_code.co_name)
    raise NonLocalReturnValue(returned(value))


def _if(test, body, orelse):
    if not is_staged(test):
        return body() if test else orelse()
    with decided_on_error(current()):
        _returned(_staged_if(test, body, orelse))
    return None


def _staged_if(test, body, orelse):
    """Stages an `if`. Its result is the value that its blocks return."""
    state, result = _State(body, orelse), UndefinedReturnValue()

    def run(block):
        nonlocal result
        try:
            block()
        except NonLocalReturnValue as value:
            result = value.value

    def get_state():
        return (*state.get(), result)

    def set_state(values):
        nonlocal result
        *variables, result = values
        state.set(variables)

    names = (*state.names, "the return value")
    if_stmt(test, lambda: run(body), lambda: run(orelse), get_state, set_state, names, len(names))
    return result


def _returned(value):
    """Continues after a staged `if` whose blocks return this value."""
    if isinstance(value, Maybe) and isinstance(value.absent, UndefinedReturnValue):
        message = "a staged `if` returns in one branch only; return in both or in neither"
        raise StagingError(message, spans.current())
    if not isinstance(value, UndefinedReturnValue):
        raise NonLocalReturnValue(value)


def _while(test, body):
    state = _State(test, body)
    with _refusing_staged_return():
        while_stmt(test, body, state.get, state.set, state.names, {})


def _for(iterable, body, test=None):
    """`for`; with a test, the loop ends before the first iteration for which it is false."""
    state = _State(body) if test is None else _State(body, test)
    with _refusing_staged_return():
        for_stmt(iterable, test, body, state.get, state.set, state.names, {})


@contextmanager
def _refusing_staged_return():
    """Raises an error for a `_return` in a staged iteration of the loop in this block."""
    try:
        yield
    except NonLocalReturnValue as value:
        if value.depth == _depth():
            raise
        message = "a staged loop cannot return; assign a variable, and return it after the loop"
        raise StagingError(message, spans.current()) from None


class _State:
    """The variables that blocks assign."""

    def __init__(self, *blocks):
        self.cells = {}
        for block in blocks:
            cells = dict(zip(block.__code__.co_freevars, block.__closure__ or ()))
            self.cells |= {name: cells[name] for name in _assigned(block.__code__)}
        self.names = tuple(self.cells)

    def get(self):
        return tuple(_contents(name, cell) for name, cell in self.cells.items())

    def set(self, values):
        for cell, value in zip(self.cells.values(), values):
            if not isinstance(value, Undefined):
                cell.cell_contents = value
            elif cell != types.CellType():
                del cell.cell_contents


def _contents(name, cell):
    try:
        return cell.cell_contents
    except ValueError:
        return Undefined(name)


@functools.lru_cache(maxsize=None)
def _assigned(code):
    """Returns the free variables that a code object assigns or deletes, itself or in functions nested in it."""
    names = {i.argval for i in dis.get_instructions(code) if i.opname in ("STORE_DEREF", "DELETE_DEREF")}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names.update(_assigned(constant))
    return tuple(name for name in code.co_freevars if name in names)
