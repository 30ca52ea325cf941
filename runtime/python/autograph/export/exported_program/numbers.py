"""Arithmetic on numbers that are known only when the program runs, as tensors without dimensions.

Integers are `int64`, which does not detect overflow, and floating-point numbers are `float64`. The program has an
assertion for each exception that Python would raise, for example that a divisor is not zero.
"""

import operator

import torch

from ..graph import BOOL, FLOAT, INT

DTYPES = {BOOL: torch.bool, INT: torch.int64, FLOAT: torch.float64}
PYTHON = {BOOL: bool, INT: int, FLOAT: float}
_RANKS = {BOOL: 0, INT: 1, FLOAT: 2}

#: The operations on symbolic sizes of torch.
_SYMBOLIC = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "neg": operator.neg, "int": lambda a: a,
    "min": torch.sym_min, "max": torch.sym_max,
}  # fmt: skip
#: The operations on numbers that are known at export.
_KNOWN = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "eq": operator.eq, "ne": operator.ne, "lt": operator.lt,
    "le": operator.le, "gt": operator.gt, "ge": operator.ge, "not": operator.not_, "neg": operator.neg, "abs": abs, "min": min,
    "max": max, "bool": bool, "int": int, "float": float, "and": lambda a, b: a and b, "or": lambda a, b: a or b,
}  # fmt: skip
_SIMPLE = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "eq": torch.eq, "ne": torch.ne, "lt": torch.lt, "le": torch.le,
    "gt": torch.gt, "ge": torch.ge,
}  # fmt: skip
_FUNCTIONS = {"exp": torch.exp, "sin": torch.sin, "cos": torch.cos, "tan": torch.tan, "tanh": torch.tanh}
_ROUNDED = {"floor": torch.floor, "ceil": torch.ceil, "round": torch.round, "int": torch.trunc}


def is_number(value):
    return isinstance(value, (bool, int, float, torch.SymInt))


def as_tensor(value, kind):
    """Returns a number as a tensor without dimensions, of the dtype for this kind."""
    dtype = DTYPES[kind]
    if isinstance(value, torch.Tensor):
        return value if value.dtype == dtype else value != 0 if kind == BOOL else value.to(dtype)
    if isinstance(value, torch.SymInt) and kind == BOOL:
        return torch.scalar_tensor(value, dtype=torch.int64) != 0
    return torch.scalar_tensor(value, dtype=dtype)


def where(condition, yes, no):
    """`torch.where`. For booleans, it uses logical operators, because onnxruntime has no `Where` for booleans."""
    if yes.dtype == no.dtype == torch.bool:
        return (condition & yes) | (torch.logical_not(condition) & no)
    return torch.where(condition, yes, no)


def result(name, values, kinds, kind, program):
    """Returns the result of the operation `scalar.name`. `program.check(condition, message)` adds an assertion to the program.
    `program.checked(tensor)` returns the tensor, with a dependency on the assertions so far if the format needs one."""
    if name in _KNOWN and not any(isinstance(value, (torch.Tensor, torch.SymInt)) for value in values):
        return PYTHON[kind](_KNOWN[name](*values))
    if name in _SYMBOLIC and not any(isinstance(value, (torch.Tensor, float, bool)) for value in values):
        return _SYMBOLIC[name](*values)
    if name == "select":
        condition, yes, no = values
        return where(as_tensor(condition, BOOL), as_tensor(yes, kind), as_tensor(no, kind))
    if len(values) == 1:
        return as_tensor(_unary(name, values[0], kinds[0], program), kind)
    return as_tensor(_binary(name, values, kinds, kind, program), kind)


def _binary(name, values, kinds, kind, program):
    both = max(kinds, key=_RANKS.get)
    if name in ("and", "or") and both == BOOL:
        return (torch.logical_and if name == "and" else torch.logical_or)(*(as_tensor(value, BOOL) for value in values))
    number = INT if both == BOOL else both
    if name == "truediv" or name == "pow" and kind == FLOAT:
        number = FLOAT
    a, b = (as_tensor(value, number) for value in values)
    if name in _SIMPLE:
        return _SIMPLE[name](a, b)
    if name in ("min", "max"):  # as in Python: the first operand, unless the second is smaller or larger
        return torch.where(b < a if name == "min" else b > a, b, a)
    if name in ("and", "or"):
        return torch.where(a == 0, *((a, b) if name == "and" else (b, a)))
    if name == "pow":
        return _power(a, b, number, program)
    if isinstance(values[1], (torch.Tensor, torch.SymInt)) or values[1] == 0:
        program.check(b != 0, "division by zero")
        b = program.checked(b)
    if name == "truediv":
        return torch.div(a, b)
    return torch.div(a, b, rounding_mode="floor") if name == "floordiv" else torch.remainder(a, b)


def _power(base, exponent, number, program):
    if number == INT:
        program.check(exponent >= 0, "a negative power of an integer is not an integer")
    else:
        program.check((base != 0) | (exponent >= 0), "zero to a negative power")
        program.check((base >= 0) | (exponent == torch.floor(exponent)), "a negative number to a fractional power is complex")
    return torch.pow(base, exponent)


def _unary(name, value, kind, program):
    if name in ("not", "bool"):
        flag = as_tensor(value, BOOL)
        return torch.logical_not(flag) if name == "not" else flag
    if name in ("neg", "abs"):
        return (torch.neg if name == "neg" else torch.abs)(as_tensor(value, INT if kind == BOOL else kind))
    if name in _ROUNDED:
        if kind != FLOAT:
            return as_tensor(value, INT)
        number = as_tensor(value, FLOAT)
        program.check(torch.isfinite(number), "cannot convert a floating-point number that is not finite to an integer")
        return _ROUNDED[name](number)
    number = as_tensor(value, FLOAT)
    if name == "sqrt":
        program.check(number >= 0, "math domain error")
        return torch.sqrt(number)
    if name == "log":
        program.check(number > 0, "math domain error")
        return torch.log(number)
    return number if name == "float" else _FUNCTIONS[name](number)
