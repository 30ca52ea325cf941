"""Class patterns of `match` that test staged values: `case ag__.IsTrue()`, `case ag__.IsInt(n)`.

Python evaluates patterns, so the result of a test must be known: a test of a staged boolean is a decided condition."""

from .builtins import isinstance_
from .identity import is_


class _Constant(type):
    """The class of patterns that match one constant."""

    constant = None

    def __instancecheck__(cls, value):
        return bool(is_(value, cls.constant))


class IsNone(metaclass=_Constant):
    constant = None


class IsTrue(metaclass=_Constant):
    constant = True


class IsFalse(metaclass=_Constant):
    constant = False


class _Number(type):
    """The class of patterns that match numbers of one class. They derive from `int` or `float`, so that
    `case ag__.IsInt(n)` binds `n` to the number itself, as `case int(n)` does."""

    kind = None

    def __instancecheck__(cls, value):
        return bool(isinstance_(value, cls.kind))


class IsBool(int, metaclass=_Number):
    kind = bool


class IsInt(int, metaclass=_Number):
    kind = int


class IsFloat(float, metaclass=_Number):
    kind = float
