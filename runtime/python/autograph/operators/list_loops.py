"""Operations on lists of the graph that become loops of the graph: `item in items`, `count`, `index`, and for lists of
numbers `sum`, `any`, `all`, `max` and `min`."""

from .asserts import torch_check
from .for_stmt import for_stmt
from .if_exp import and_, if_exp, not_, or_
from .values import LIST_LOOPS


def contains(items, item):
    return _folded(items, False, lambda found, _, value: or_(lambda: found, lambda: not_(value != item)))


def count(items, item):
    return _folded(items, 0, lambda total, _, value: if_exp(value == item, lambda: total + 1, lambda: total, "=="))


def index(items, item):
    """The index of the first equal item. Raises a `ValueError` when the graph runs if there is none."""
    torch_check(ValueError, list.index)(contains(items, item), lambda: f"{item!r} is not in list")

    def step(found, place, value):
        is_first = and_(lambda: found < 0, lambda: value == item)
        return if_exp(is_first, lambda: place, lambda: found, "==")

    return _folded(items, -1, step)


def total(items, start):
    return _folded(items, start, lambda found, _, value: found + value)


def is_any(items):
    return _folded(items, False, lambda found, _, value: or_(lambda: found, lambda: not_(not_(value))))


def are_all(items):
    return _folded(items, True, lambda found, _, value: and_(lambda: found, lambda: not_(not_(value))))


def extreme(items, function, better):
    """`max` or `min`. `better(a, b)` returns the better one of two numbers."""
    torch_check(ValueError, function)(items.length() > 0, lambda: f"{function.__name__}() arg is an empty sequence")
    return _folded(items, items.at(0), lambda found, _, value: better(found, value))


def _folded(items, initial, step):
    """Returns `initial` after `value = step(value, index, item)` for each item."""
    state = initial, 0

    def body(item):
        nonlocal state
        value, place = state
        state = step(value, place, item), place + 1

    def set_state(values):
        nonlocal state
        state = tuple(values)

    for_stmt(items, None, body, lambda: state, set_state, ("the result", "the index"), {})
    return state[0]


LIST_LOOPS.update(
    contains=contains, count=count, index=index, sum=total, any=is_any, all=are_all, extreme=extreme
)
