"""`match`: patterns, guards, captures."""

from environment import *


class Point:
    __match_args__ = ("x", "y")

    def __init__(self, x, y):
        self.x = x
        self.y = y


RED, GREEN = "red", "green"


class Color:
    RED = "red"
    GREEN = "green"


def literals(value):
    match value:
        case 0:
            return "zero"
        case 1 | 2 | 3:
            return "few"
        case -1:
            return "minus one"
        case "text":
            return "text"
        case None:
            return "none"
        case True:
            return "never: 1 comes first"
        case _:
            return "other"


def sequences(value):
    match value:
        case []:
            return "empty"
        case [x]:
            return "one", x
        case [x, y]:
            return "two", x, y
        case [first, *middle, last]:
            return first, middle, last
        case _:
            return "no sequence"


def mappings(value):
    match value:
        case {"kind": "circle", "radius": r}:
            return 3 * r * r
        case {"kind": "square", "side": s, **rest}:
            return s * s, rest
        case {}:
            return "some mapping"
    return "no mapping"


def classes(value):
    match value:
        case Point(0, 0):
            return "origin"
        case Point(x=0, y=y):
            return "on y", y
        case Point(x, 0):
            return "on x", x
        case Point() as p:
            return "somewhere", p.x
        case int(n) | float(n):
            return "number", n
        case str():
            return "text"


def guards(value):
    match value:
        case [x, y] if x == y:
            return "equal"
        case [x, y] if note("guard", x > y):
            return "falling"
        case [x, y]:
            return "rising"


def values(value):
    match value:
        case Color.RED:
            return 1
        case Color.GREEN:
            return 2
        case other:
            return other


def captures_survive(value):
    match value:
        case (a, b) if a > b:
            pass
        case (c, _):
            pass
    return [name for name in ("a", "b", "c") if name in locals()]


def captures_may_be_unbound(value):
    match value:
        case int(n):
            pass
        case str(s):
            n = len(s)
    return n


def subject_once(items):
    match note("subject", items):
        case [1]:
            return "one"
        case [2]:
            return "two"
        case x:
            return x


def flow_in_cases(commands):
    position, log = 0, []
    for command in commands:
        match command.split():
            case ["go", steps]:
                for _ in range(int(steps)):
                    position += 1
                    if position > 5:
                        break
                else:
                    continue
                log.append("wall")
            case ["back"]:
                position -= 1
            case ["stop"]:
                break
            case ["say", *words]:
                log.append(" ".join(words))
            case unknown:
                return "unknown", unknown
    else:
        log.append("end")
    return position, log


def nested_patterns(tree):
    match tree:
        case ("add", left, right):
            return nested_patterns(left) + nested_patterns(right)
        case ("neg", operand):
            return -nested_patterns(operand)
        case ("if", test, then, other):
            return nested_patterns(then if nested_patterns(test) else other)
        case int() | float() as number:
            return number
        case _:
            raise ValueError(tree)


def or_with_captures(value):
    match value:
        case [("left", x) | (x, "right"), *_]:
            return x
    return None


def match_in_match(a, b):
    match a:
        case 1:
            match b:
                case 1:
                    result = "both"
                case _:
                    result = "first"
        case _:
            result = "none"
    return result


def irrefutable(value):
    match value:
        case whatever:
            whatever += 1
    return whatever


def match_a_tuple_display(a, b):
    match a, b:
        case True, _:
            return "a"
        case _, True:
            return "b"
    return "none"


def raising_guard(value):
    try:
        match value:
            case [x] if 1 // x:
                return "one over x"
            case [x]:
                return "small"
    except ZeroDivisionError:
        return "guard raised", x


def soft_keywords(match, case=1):
    _ = match
    type = case
    match = [match, type]
    match[0] += 1
    return match, _


def capture_in_closure(value):
    match value:
        case [x, *rest]:
            read = lambda: (x, rest)
        case _:
            x = None
            read = lambda: x
    x = "changed"
    return read()


def match_attributes(box):
    match box:
        case Bag(x=int(x)) if x > 1:
            box.x = 0
        case Bag(x=None):
            box.y = 1
        case Bag():
            del box.x
    return box


CALLS = [
    "[literals(v) for v in (0, 2, -1, 'text', None, True, 2.5)]", "sequences([])", "sequences((1,))", "sequences('ab')",
    "sequences([1, 2])", "sequences(range(5))", "mappings({'kind': 'circle', 'radius': 2})",
    "mappings({'kind': 'square', 'side': 2, 'z': 1})", "mappings({})", "mappings([])",
    "[classes(v) for v in (Point(0, 0), Point(0, 2), Point(3, 0), Point(1, 1), 1, 2.0, 'a', None)]",
    "guards([1, 1])", "guards([2, 1])", "guards([1, 2])", "guards([1])", "guards(['a', 1])",
    "[values(v) for v in ('red', 'green', 'blue')]", "captures_may_be_unbound(3)", "captures_may_be_unbound('abc')",
    "captures_may_be_unbound(None)", "subject_once([2])", "subject_once([3])",
    "flow_in_cases(['go 3', 'back', 'say a b', 'go 9', 'stop', 'go 1'])", "flow_in_cases(['go 1'])",
    "flow_in_cases(['dance'])", "nested_patterns(('if', 1, ('add', 1, ('neg', 3)), 0))", "nested_patterns(('mul', 1))",
    "or_with_captures([('left', 1)])", "or_with_captures([(2, 'right'), 3])", "or_with_captures([])",
    "match_in_match(1, 1)", "match_in_match(1, 2)", "match_in_match(2, 2)", "irrefutable(1)", "irrefutable('a')",
    "match_a_tuple_display(True, 0)", "match_a_tuple_display(0, True)", "match_a_tuple_display(0, 0)",
    "raising_guard([1])", "raising_guard([0])", "raising_guard([2])", "soft_keywords(1)",
    "capture_in_closure([1, 2])", "capture_in_closure(1)", "match_attributes(Bag(x=2))", "match_attributes(Bag(x=None))",
    "match_attributes(Bag(x='a'))",
]
