"""Arithmetic on numbers in TorchScript, with the results and exceptions of Python."""

from ..graph import BOOL, FLOAT, INT

#: The source of helper functions. The exported module defines those that it calls.
HELPERS = {
    "_true_div": """
        def _true_div(a: float, b: float) -> float:
            if b == 0.0:
                raise ZeroDivisionError("division by zero")
            return a / b
    """,
    "_floor_div": """
        def _floor_div(a: int, b: int) -> int:
            if b == 0:
                raise ZeroDivisionError("integer division or modulo by zero")
            return a // b
    """,
    "_mod": """
        def _mod(a: int, b: int) -> int:
            if b == 0:
                raise ZeroDivisionError("integer modulo by zero")
            return a % b
    """,
    "_float_floor_div": """
        def _float_floor_div(a: float, b: float) -> float:
            if b == 0.0:
                raise ZeroDivisionError("float floor division by zero")
            rest = math.fmod(a, b)
            if rest != 0.0 and (b < 0.0) != (rest < 0.0):
                rest += b
            return float(round((a - rest) / b))
    """,
    "_float_mod": """
        def _float_mod(a: float, b: float) -> float:
            if b == 0.0:
                raise ZeroDivisionError("float modulo")
            rest = math.fmod(a, b)
            if rest != 0.0 and (b < 0.0) != (rest < 0.0):
                rest += b
            return rest
    """,
    "_pow": """
        def _pow(base: int, exponent: int) -> int:
            if exponent < 0:
                raise ValueError("a negative power of an integer is not an integer")
            result = 1
            while exponent > 0:
                if exponent % 2 == 1:
                    result = result * base
                base = base * base
                exponent = exponent // 2
            return result
    """,
    "_float_pow": """
        def _float_pow(base: float, exponent: float) -> float:
            if base == 0.0 and exponent < 0.0:
                raise ZeroDivisionError("zero to a negative power")
            if base < 0.0 and exponent != math.floor(exponent):
                raise ValueError("a negative number to a fractional power is complex")
            return math.pow(base, exponent)
    """,
    "_int": """
        def _int(x: float) -> int:
            if math.isnan(x) or math.isinf(x):
                raise ValueError("cannot convert float to integer")
            return int(x)
    """,
    "_sqrt": """
        def _sqrt(x: float) -> float:
            if x < 0.0:
                raise ValueError("math domain error")
            return math.sqrt(x)
    """,
    "_log": """
        def _log(x: float) -> float:
            if x <= 0.0:
                raise ValueError("math domain error")
            return math.log(x)
    """,
}

_RANKS = {BOOL: 0, INT: 1, FLOAT: 2}
_OPERATORS = {"add": "+", "sub": "-", "mul": "*"}
_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_FUNCTIONS = {
    "exp": "math.exp", "sin": "math.sin", "cos": "math.cos", "tan": "math.tan", "tanh": "math.tanh", "sqrt": "_sqrt", "log": "_log",
}  # fmt: skip
_ROUNDED = {"floor": "math.floor({})", "ceil": "math.ceil({})", "round": "_int(round({}))", "int": "_int({})"}
_CALLS = {
    ("floordiv", INT): "_floor_div", ("floordiv", FLOAT): "_float_floor_div", ("mod", INT): "_mod", ("mod", FLOAT): "_float_mod",
    ("truediv", FLOAT): "_true_div", ("pow", INT): "_pow", ("pow", FLOAT): "_float_pow",
}  # fmt: skip


def as_kind(text, kind, wanted):
    """Returns an expression that converts a number from one kind to another."""
    if kind == wanted:
        return text
    if wanted == BOOL:
        return f"({text} != 0)"
    return f"{wanted}({text})"


def expression(name, texts, kinds, result):
    """Returns the expression for the operation `scalar.name` on operands with these expressions and kinds."""
    if name == "select":
        condition, yes, no = texts
        yes, no = as_kind(yes, kinds[1], result), as_kind(no, kinds[2], result)
        return f"{yes} if {as_kind(condition, kinds[0], BOOL)} else {no}"
    text, kind = (_binary if len(texts) == 2 else _unary)(name, texts, kinds, result)
    return as_kind(text, kind, result)


def _binary(name, texts, kinds, result):
    """Returns the expression for an operation on two numbers, and the kind of its result."""
    both = max(kinds, key=_RANKS.get)
    if name in ("and", "or") and both == BOOL:
        return f"({texts[0]} {name} {texts[1]})", BOOL
    number = INT if both == BOOL else both
    if name == "truediv" or name == "pow" and result == FLOAT:
        number = FLOAT
    a, b = (as_kind(text, kind, number) for text, kind in zip(texts, kinds))
    if name in _OPERATORS:
        return f"({a} {_OPERATORS[name]} {b})", number
    if name in _COMPARISONS:
        return f"({a} {_COMPARISONS[name]} {b})", BOOL
    if name in ("min", "max"):  # as Python selects it
        return f"({b} if {b} {'<' if name == 'min' else '>'} {a} else {a})", number
    if name in ("and", "or"):
        return f"({a} if {a} {'==' if name == 'and' else '!='} 0 else {b})", number
    return f"{_CALLS[name, number]}({a}, {b})", number


def _unary(name, texts, kinds, result):
    """Returns the expression for an operation on one number, and the kind of its result."""
    (text,), (kind,) = texts, kinds
    number = INT if kind == BOOL else kind
    if name in ("not", "bool"):
        flag = as_kind(text, kind, BOOL)
        return (f"(not {flag})" if name == "not" else flag), BOOL
    if name in ("neg", "abs"):
        text = as_kind(text, kind, number)
        return (f"(-{text})" if name == "neg" else f"abs({text})"), number
    if name == "float" or name in _FUNCTIONS:
        text = as_kind(text, kind, FLOAT)
        return (text if name == "float" else f"{_FUNCTIONS[name]}({text})"), FLOAT
    return (_ROUNDED[name].format(text) if kind == FLOAT else as_kind(text, kind, INT)), INT
