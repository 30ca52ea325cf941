"""Patterns of `match` that Python compares by identity or by class, with values of the graph as subjects."""

import enum
from dataclasses import dataclass

import pytest
from oracle import assert_same, t

pytestmark = pytest.mark.filterwarnings("ignore:a call of")

CALLS = (t(1.5),), (t(-2),), (t(0.25),), (t(3),)


class Mode(enum.Enum):
    IDLE = 1
    SEEK = 2


@dataclass
class Item:
    done: bool
    count: int


def _constants(x):
    found = []
    match x.item() > 0:
        case True:
            found.append("positive")
        case False:
            found.append("negative")
    match (Mode.IDLE, x.item() > 1):
        case (Mode.SEEK, _) | (Mode.IDLE, True):
            found.append("seek")
        case (Mode.IDLE, False):
            found.append("idle")
    match {"large": x > 2, "small": x.item() < 1}:
        case {"small": True}:
            found.append("small")
        case {"small": False, **rest} if rest["large"]:
            found.append("large")
    match x.item() if x > 1 else None:
        case None:
            found.append(None)
        case number:
            found.append(number)
    return found


def _classes(x):
    found = []
    for subject in (int(x.item()), x.item(), x.item() > 0, 2, 2.0, True, "text"):
        match subject:
            case bool(flag):
                found.append(("bool", flag))
            case int(number):
                found.append(("int", number))
            case float():
                found.append(("float", subject))
            case _:
                found.append("other")
    return found


def _attributes(x):
    match Item(x.item() > 1, int(x.item())):
        case Item(done=True, count=int(n) as count):
            return n + count
        case Item(False, n):
            return n - 1


def _names_of_the_function(x):
    class int:
        pass

    match 1:
        case int():
            return x
    return x + 1


@pytest.mark.parametrize("function", [_constants, _classes, _attributes, _names_of_the_function])
def test_a_pattern_agrees_with_python(function):
    for first in range(len(CALLS)):
        assert_same(function, *CALLS[first:], *CALLS[:first])
