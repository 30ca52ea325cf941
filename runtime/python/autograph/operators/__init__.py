"""The operators that converted code calls, with TensorFlow's calling convention; one module for each family. On
operands that are not staged, they behave as in Python."""

import sys

from ..capture.unbound import Undefined, UndefinedReturnValue
from ..conversion.converter import OPERATORS
from . import builtins, clock, data_parallel, derivatives, logs, mathematics, optimizers, randomness, sequences
from . import list_loops, refused, warned
from .asserts import assert_stmt
from .builtins import contains
from .calls import converted_call
from .for_stmt import for_stmt
from .formats import joined, percent, text
from .if_exp import and_, eq, if_exp, not_, not_eq, or_
from .identity import is_, is_not
from .if_stmt import if_stmt
from .lists import (
    GetItemOpts,
    ListPopOpts,
    ListStackOpts,
    get_item,
    list_append,
    list_pop,
    list_stack,
    new_list,
    set_item,
)
from .patterns import IsBool, IsFalse, IsFloat, IsInt, IsNone, IsTrue
from .scopes import STD, ConversionOptions, Feature, FunctionScope, autograph_artifact, with_function_scope
from .values import List
from .variables import ld, ldu
from .while_stmt import while_stmt

__all__ = [
    "STD", "ConversionOptions", "Feature", "FunctionScope", "GetItemOpts", "IsBool", "IsFalse", "IsFloat", "IsInt",
    "IsNone", "IsTrue", "List", "ListPopOpts", "ListStackOpts", "Undefined", "UndefinedReturnValue", "and_", "assert_stmt", "autograph_artifact", "contains", "converted_call", "eq",
    "for_stmt", "get_item", "if_exp", "if_stmt", "is_", "is_not", "joined", "ld", "ldu", "list_append", "list_pop", "list_stack", "new_list",
    "not_", "not_eq", "or_", "percent", "set_item", "text", "while_stmt", "with_function_scope",
]  # fmt: skip

#: Imported for the overloads that they register.
_REGISTERED = (
    builtins, clock, data_parallel, derivatives, list_loops, logs, mathematics, optimizers, randomness, sequences,
    refused, warned,
)  # fmt: skip

OPERATORS.cell_contents = sys.modules[__name__]
