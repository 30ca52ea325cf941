"""Values of variables that may be unbound."""


class Undefined:
    """Stands for the value of a variable that is unbound in Python."""

    __slots__ = ("symbol_name",)

    def __init__(self, symbol_name):
        self.symbol_name = symbol_name

    def __repr__(self):
        return f"Undefined({self.symbol_name!r})"


class UndefinedReturnValue:
    """The result of a function that has not returned yet."""


class Maybe:
    """The value of a variable that is bound only on some paths of the graph. The staged boolean `flag` is true on the
    paths on which it is bound; `absent` is its value on all other paths."""

    __slots__ = ("value", "flag", "absent")

    def __init__(self, value, flag, absent):
        self.value = value
        self.flag = flag
        self.absent = absent
