"""Reference operators for code converted with `--dialect snek`, as in sections 3.1 to 3.4 of the Snek paper. They never
stage."""

from ag_reference import UndefinedReturnValue as _UndefinedReturnValue
from ag_reference import and_ as _and
from ag_reference import if_exp as _if_exp
from ag_reference import ld as _ld
from ag_reference import ldu as _ldu
from ag_reference import not_ as _not
from ag_reference import or_ as _or

__all__ = [
    "NonLocalReturnValue", "_UndefinedReturnValue", "_and", "_for", "_if", "_if_exp", "_ld", "_ldu", "_not", "_or", "_return",
    "_while",
]  # fmt: skip


class NonLocalReturnValue(Exception):
    def __init__(self, value):
        self.value = value


def _return(value):
    raise NonLocalReturnValue(None if isinstance(value, _UndefinedReturnValue) else value)


def _if(test, body, orelse):
    return body() if test else orelse()


def _while(test, body):
    while test():
        body()


def _for(iterable, body, test=None):
    for item in iterable:
        body(item)
        if test is not None and not test():
            break
