"""Strings with values that are only known when the graph runs: `f"loss {loss:.3f}"`.

While staging, such a value is formatted as a mark. Where the string is printed or raised, the graph calls Python with
the values, which formats them as the original code would.
"""

from contextlib import contextmanager

import torch

from ..record import marks
from ..record.types import STR


def mark(staging, value, spec=""):
    """The placeholder of a value of the graph in a string. A `spec` of None stands for `repr`."""
    staging.formatted.append((staging.operand(value), spec))
    return marks.mark(len(staging.formatted) - 1)


def assembled(staging, text):
    """The operand for a string: the string itself, or the result of a callback that formats its values."""
    literals, indexes = marks.split(text)
    if not indexes:
        return text
    operands = [staging.formatted[index][0] for index in indexes]
    specs = [staging.formatted[index][1] for index in indexes]

    def formatted(*values):
        texts = [repr(value) if spec is None else format(value, spec) for value, spec in zip(values, specs)]
        return ("".join(a + b for a, b in zip(literals, [*texts, ""])),)

    return staging.call_python(formatted, operands, [STR])[0]


@contextmanager
def formatting():
    """Makes torch's symbolic numbers format themselves as marks."""
    kinds = (torch.SymInt, torch.SymFloat, torch.SymBool)
    for kind in kinds:
        kind.__format__ = _format
    try:
        yield
    finally:
        for kind in kinds:
            del kind.__format__


def _format(number, spec):
    staging = getattr(number.node, "staging", None)
    return object.__format__(number, spec) if staging is None else mark(staging, number, spec)
