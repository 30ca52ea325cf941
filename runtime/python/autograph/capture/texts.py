"""Strings with values that are known only when the graph runs: `f"loss {loss:.3f}"`.

While a function is traced, a *placeholder* stands for such a value in the string. When the string is printed or raised,
the graph calls a Python function with the values, which formats them as the original code would.
"""

import operator

import torch

from ..conversion import spans
from ..errors import StagingError
from ..record import placeholders
from ..record.nodes import Value
from ..record.types import BOOL, FLOAT, INT, STR


def as_text(staging, result):
    """Returns the result of a string function, as a `Text` if it contains values of the graph."""
    if type(result) is str and staging is not None and placeholders.exist(result):
        return Text.of(staging, result)
    return result


#: Special methods of a string whose result depends on its characters.
_CHARACTERS = ("__contains__", "__getitem__", "__hash__", "__iter__", "__len__", "__mod__", "__mul__", "__rmul__")


def placeholder(staging, value, render=str):
    """Returns a `Text` with a placeholder for a value of the graph or another `Text`. `render(value)` returns its text when
    the graph runs."""
    staging.formatted.append((value if isinstance(value, Text) else staging.operand(value), render))
    return Text.of(staging, placeholders.placeholder(len(staging.formatted) - 1))


def formatted(staging, value, spec):
    """Returns a `Text` with a placeholder for `format(value, spec)`."""
    return placeholder(staging, value, lambda v: format(v, spec))


class Text(str):
    """A string with placeholders. It can be joined, printed, raised and returned. Comparisons are staged; all other operations
    that depend on its characters use the characters for the arguments of this call."""

    @classmethod
    def of(cls, staging, text):
        result = cls(text)
        result.staging = staging
        return result

    def __str__(self):
        return self

    def __format__(self, spec):
        return formatted(self.staging, self, spec) if spec else self

    def __repr__(self):
        return placeholder(self.staging, self, repr)

    def __add__(self, other):
        return Text.of(self.staging, str.__add__(self, other))

    def __radd__(self, other):
        return Text.of(self.staging, str.__add__(other, self))


def known(text):
    """Returns the characters of a `Text` for the arguments of this call. Each run checks that its values are the same."""
    literals, indexes = placeholders.split(text)
    texts = [_known(text.staging, *text.staging.formatted[index]) for index in indexes]
    return "".join(a + b for a, b in zip(literals, [*texts, ""]))


def _known(staging, value, render):
    found = None
    if isinstance(value, Text):
        found = known(value)
    elif isinstance(value, Value) and value.type in (INT, FLOAT):
        found = staging.decided_number(value)
    elif isinstance(value, Value) and value.type == BOOL:
        found = staging.decided(value)
    if found is None:
        message = "Python needs the text of a value that is only known when the graph runs"
        help = "compute it with `ag.py_function`, or compare the value instead of its text"
        raise StagingError(f"{message}\nhelp: {help}", spans.current())
    return render(found)


def plain(staging, value, numbers=False):
    """Replaces each `Text` in a value by a string, for code that reads the characters. With `numbers`, also replaces
    staged numbers by Python's, for code that tests `isinstance(n, int)`. The lists and dictionaries in the value remain
    the same objects, because such code may change them."""
    if staging is None or not (numbers or staging.formatted):
        return value
    return _plain(value, _of_library if numbers else _characters)


def holds_numbers(value):
    """Returns whether a value is a staged number, or contains one."""
    if isinstance(value, (list, tuple)):
        return any(map(holds_numbers, list.__iter__(value) if isinstance(value, list) else value))
    if type(value) is dict:
        return any(map(holds_numbers, value.values()))
    return isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool))


def _characters(value):
    return known(value) if isinstance(value, Text) else value


def _of_library(value):
    if isinstance(value, torch.SymBool):
        return value.node.guard_bool("", 0)
    if isinstance(value, (torch.SymInt, torch.SymFloat)):
        return value.node.guard_int("", 0) if isinstance(value, torch.SymInt) else value.node.guard_float("", 0)
    return _characters(value)


def _plain(value, leaf):
    """Applies `leaf` to all values in tuples, lists and dictionaries. Lists and dictionaries are changed in place."""
    if type(value) is tuple:
        items = tuple(_plain(item, leaf) for item in value)
        return value if all(map(operator.is_, items, value)) else items
    if isinstance(value, list):
        items = [_plain(item, leaf) for item in list.__iter__(value)]
        if not all(map(operator.is_, items, list.__iter__(value))):
            list.__setitem__(value, slice(None), items)
    elif type(value) is dict:
        items = [(_plain(key, leaf), _plain(item, leaf)) for key, item in value.items()]
        if not all(a is k and b is v for (a, b), (k, v) in zip(items, value.items())):
            value.clear()
            value.update(items)
    else:
        return leaf(value)
    return value


def _of_characters(name):
    """Returns a method that uses the characters for the arguments of this call."""
    function = getattr(str, name)

    def method(self, *args, **keywords):
        if not isinstance(self, Text):  # a call of converted code has replaced the text by its characters
            return function(self, *args, **keywords)
        return function(known(self), *plain(self.staging, args), **keywords)

    return method


def _comparison(name):
    compare = getattr(operator, name)

    def method(self, other):
        if not isinstance(other, str):
            return NotImplemented
        staging = self.staging
        first, second = assembled(staging, self), assembled(staging, other)
        found = staging.call_python(lambda a, b: (compare(a, b),), [first, second], [BOOL], is_pure=True)
        return staging.scalar(found[0])

    return method


for _name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"):
    setattr(Text, _name, _comparison(_name))
for _name in dir(str):
    is_special = _name.startswith("__")
    if not is_special and _name not in ("join", "format") or _name in _CHARACTERS:
        setattr(Text, _name, _of_characters(_name))


def assembled(staging, text):
    """Returns the operand for a string: the string itself, or the result of a callback that formats its values."""
    literals, indexes = placeholders.split(text)
    if not indexes:
        return text
    values, renders = zip(*(staging.formatted[index] for index in indexes))
    operands = [assembled(staging, value) if isinstance(value, Text) else value for value in values]

    def text_of(*values):
        texts = [render(value) for value, render in zip(values, renders)]
        return ("".join(a + b for a, b in zip(literals, [*texts, ""])),)

    return staging.call_python(text_of, operands, [STR], is_pure=True)[0]


def format_number(number, spec):
    """`format(number, spec)` of a symbolic number of torch."""
    staging = getattr(number.node, "staging", None)
    return object.__format__(number, spec) if staging is None else formatted(staging, number, spec)
