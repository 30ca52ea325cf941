"""The value that a staged function returns, as an expression that contains the results of its graph."""

from .graph import List, type_of


#: The maximum number of conditions on which the structure of a returned value depends.
MAXIMUM_CONDITIONS = 8

#: The conditions that are constants of the graph.
_CONSTANTS = {"True": True, "False": False}


class UnsupportedResult(Exception):
    """The value has no expression. The message is the reason."""


class Undecided(Exception):
    """The structure of the value depends on this condition."""


class Slot:
    """Stands for a result or an input of the graph in the returned value. `text` is the expression of this result or
    input. `decided` maps conditions to their assumed values."""

    def __init__(self, text, type, decided):
        self.text, self.type, self.decided = text, type, decided

    def __bool__(self):
        if self.text not in self.decided:
            raise Undecided(self.text)
        return self.decided[self.text]

    def __iter__(self):
        yield Elements(self)

    def detach(self):
        return self

    def requires_grad_(self):
        return self


class Elements:
    """Stands for all elements of a list of the graph."""

    def __init__(self, slot):
        self.slot = slot


class Choice:
    """A returned value that a condition of the graph selects: `yes if condition else no`."""

    def __init__(self, condition, yes, no):
        self.condition, self.yes, self.no = condition, yes, no


def returned(trace, slots, inputs, decided=None):
    """Returns the result of the function and the new values of its state, with a `Slot` for each result of the graph.
    `slots` and `inputs` are pairs of an expression and its type."""
    decided = _CONSTANTS if decided is None else decided
    slots, inputs = ([Slot(*pair, decided) for pair in pairs] for pairs in (slots, inputs))
    outside = dict(zip(trace.places, inputs))
    refused = "it returns an argument that is a container"
    outside.update((id(container), UnsupportedResult(refused)) for container in trace.containers)
    try:
        return trace.result.value(slots, outside)[:2]
    except Undecided as found:
        return _choice(trace, slots, inputs, decided, str(found))
    except (TypeError, AttributeError, StopIteration) as error:
        raise UnsupportedResult(f"it returns an object that only Python can create ({error})") from None


def _choice(trace, slots, inputs, decided, condition):
    if len(decided) - len(_CONSTANTS) >= MAXIMUM_CONDITIONS:
        raise UnsupportedResult(f"the structure of the returned value depends on more than {MAXIMUM_CONDITIONS} conditions")
    pairs = [[(slot.text, slot.type) for slot in found] for found in (slots, inputs)]
    return Choice(condition, *(returned(trace, *pairs, {**decided, condition: flag}) for flag in (True, False)))


def expression(value):
    """Returns the expression and the type of a returned value."""
    if isinstance(value, Slot):
        return value.text, value.type
    if isinstance(value, UnsupportedResult):
        raise value
    if value is None or type(value) in (bool, int, str):
        return repr(value), type_of(value)
    if type(value) is float:
        return number(value), type_of(value)
    if isinstance(value, tuple):
        parts = [expression(item) for item in value]
        return f"({', '.join(text for text, _ in parts)}{',' if len(parts) == 1 else ''})", "tuple"
    if type(value) is list and len(value) == 1 and isinstance(value[0], Elements):
        return expression(value[0].slot)
    if type(value) is list:
        return f"[{', '.join(_alike(value, 'list'))}]", List("any")
    if type(value) is dict:
        keys, items = _alike(value, "dictionary"), _alike(value.values(), "dictionary")
        return f"{{{', '.join(f'{key}: {item}' for key, item in zip(keys, items))}}}", "dict"
    if isinstance(value, Elements):
        raise UnsupportedResult("it returns a staged list whose elements are tuples or containers")
    raise UnsupportedResult(f"it returns an object of the class `{type(value).__name__}`")


def _alike(values, what):
    """Returns the expressions of values, which must have the same type."""
    parts = [expression(value) for value in values]
    if not parts:
        raise UnsupportedResult(f"it returns an empty {what}, whose type is unknown")
    if len({_kind(type) for _, type in parts}) > 1:
        raise UnsupportedResult(f"it returns a {what} of values of different types")
    return [text for text, _ in parts]


def _kind(type):
    return type if isinstance(type, str) else type.__class__.__name__


def number(value):
    """Returns an expression for a Python number, which may be infinite or NaN."""
    text = repr(value)
    return f'float("{text}")' if text in ("inf", "-inf", "nan") else text
