"""Texts with values that only the graph knows: `f"loss {loss:.3f}"`.

While staging, such a value is formatted as a mark; where the text is printed or raised, the graph calls Python with
the values, which formats them as it would have.
"""

import re
from contextlib import contextmanager

import torch

_MARK = re.compile("\ue000([0-9]+)\ue001")


def mark(staging, value, spec=""):
    """What stands in a text for a value of the graph; without a spec, for its `repr`."""
    staging.formatted.append((staging.operand(value), spec))
    return f"\ue000{len(staging.formatted) - 1}\ue001"


def shown(text):
    """A text, or what `repr` makes of it, in a message: what the values are is not known yet."""
    return re.sub(r"(\ue000|\\ue000)[0-9]+(\ue001|\\ue001)", "…", text)


def assembled(staging, text):
    """The operand that a text is: itself, or what a call of Python makes of it when the graph runs."""
    fixed = _MARK.split(text)
    if len(fixed) == 1:
        return text
    numbers = [int(number) for number in fixed[1::2]]
    operands = [staging.formatted[number][0] for number in numbers]
    specs = [staging.formatted[number][1] for number in numbers]
    texts = fixed[::2]

    def formatted(*values):
        made = [repr(value) if spec is None else format(value, spec) for value, spec in zip(values, specs)]
        return ("".join(a + b for a, b in zip(texts, [*made, ""])),)

    staging.callbacks.append(formatted)
    return staging.emit(f"python {len(staging.callbacks) - 1}", operands, ["str"])[0]


@contextmanager
def formatting():
    """Makes torch's symbolic numbers format themselves as marks, as long as something is staged."""
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
