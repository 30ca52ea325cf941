"""Strings with values that are only known when the graph runs: `f"loss {loss:.3f}"`.

While staging, such a value is formatted as a mark. Where the string is printed or raised, the graph calls Python with
the values, which formats them as the original code would.
"""

import operator
from contextlib import contextmanager

import torch

from ..conversion import spans
from ..errors import StagingError
from ..record import marks
from ..record.types import BOOL, STR


def check(*values):
    """Raises an error for a `Text` in an operation of Python that reads its contents."""
    for value in values:
        if isinstance(value, Text):
            _refused(value)


def noticed(staging, result):
    """Returns a result of Python's string functions, as a `Text` if it contains values of the graph."""
    if type(result) is str and staging is not None and marks.exist(result):
        return Text.of(staging, result)
    return result


#: Special methods of a string whose result depends on its contents.
_CONTENTS = ("__contains__", "__getitem__", "__hash__", "__iter__", "__len__", "__mod__", "__mul__", "__rmul__")


def mark(staging, value, render=str):
    """The placeholder of a value of the graph, or of a `Text`, in a string. `render` makes its text when the graph runs."""
    staging.formatted.append((value if isinstance(value, Text) else staging.operand(value), render))
    return Text.of(staging, marks.mark(len(staging.formatted) - 1))


def formatted(staging, value, spec):
    """The placeholder for `format(value, spec)`."""
    return mark(staging, value, lambda v: format(v, spec))


class Text(str):
    """A string with marks. It can be joined, printed, raised and returned. Comparisons are staged; all other operations
    that depend on its contents are errors."""

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
        return mark(self.staging, self, repr)

    def __add__(self, other):
        return Text.of(self.staging, str.__add__(self, other))

    def __radd__(self, other):
        return Text.of(self.staging, str.__add__(other, self))


def _refused(text, *args, **keywords):
    message = "Python needs the text of a value that is only known when the graph runs"
    help = "compute it with `ag.py_function`, or compare the value instead of its text"
    raise StagingError(f"{message}\nhelp: {help}", spans.current())


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
    if not is_special and _name not in ("join", "format") or _name in _CONTENTS:
        setattr(Text, _name, _refused)


def assembled(staging, text):
    """The operand for a string: the string itself, or the result of a callback that formats its values."""
    literals, indexes = marks.split(text)
    if not indexes:
        return text
    values, renders = zip(*(staging.formatted[index] for index in indexes))
    operands = [assembled(staging, value) if isinstance(value, Text) else value for value in values]

    def text_of(*values):
        texts = [render(value) for value, render in zip(values, renders)]
        return ("".join(a + b for a, b in zip(literals, [*texts, ""])),)

    return staging.call_python(text_of, operands, [STR], is_pure=True)[0]


@contextmanager
def formatting():
    """Makes torch's symbolic numbers format themselves as marks."""
    kinds = (torch.SymInt, torch.SymFloat, torch.SymBool)
    is_inner = "__format__" in torch.SymInt.__dict__  # in a function that `init_scope` calls while another one is traced
    for kind in kinds:
        kind.__format__ = _format
    try:
        yield
    finally:
        for kind in () if is_inner else kinds:
            del kind.__format__


def _format(number, spec):
    staging = getattr(number.node, "staging", None)
    return object.__format__(number, spec) if staging is None else formatted(staging, number, spec)
