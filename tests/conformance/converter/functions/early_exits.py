"""`return` in all kinds of statements."""

from environment import *


def guard_clauses(x):
    if x is None:
        return "none"
    if not isinstance(x, int):
        return "no number"
    if x < 0:
        return "negative"
    return x * 2


def bare_return(x):
    if x:
        return
    note("not left")


def returns_nothing(x):
    x += 1


def return_in_with(name):
    with Guard(name):
        return note("inside", 1)


def return_swallowed(value):
    with Guard("g", swallow=True):
        return 1 // value
    return "after the block"


def return_swallowed_without_rest(value):
    with Guard("g", swallow=True):
        return 1 // value


def exit_raises_after_return():
    with Guard("g", fail="exit"):
        return 1


def exit_raises_and_outer_swallows():
    with Guard("outer", swallow=True):
        with Guard("inner", fail="exit"):
            return 1
    return "swallowed"


def return_in_try(x):
    try:
        return note("value", 10 // x)
    except ZeroDivisionError:
        return "divided by zero"
    finally:
        note("finally")


def finally_overrides(x):
    try:
        return 10 // x
    finally:
        return "finally"


def finally_sees_locals(x):
    state = "start"
    try:
        if x:
            state = "returning"
            return state
        state = "falling"
    finally:
        note("state", state)
        state = "changed"
    return state


def return_in_else_of_try(x):
    try:
        y = 1 // x
    except ZeroDivisionError:
        y = 0
    else:
        return "else", y
    return "fell", y


def return_in_handler(x):
    while True:
        try:
            x = 1 // x
        except ZeroDivisionError as error:
            return error.args
        else:
            if x == 1:
                return "one"


def return_in_finally_in_loop(items):
    for item in items:
        try:
            if item < 0:
                raise ValueError(item)
        finally:
            if item == 2:
                return "two"
    return "end"


def return_from_while_else(n):
    while n:
        n -= 1
        if n == 3:
            return "three"
    else:
        return "nothing left"


def return_value_order(xs):
    for x in xs:
        if x > 1:
            return note("first", x), note("second", xs.index(x))
    return ()


def return_lambda(n):
    if n > 0:
        return lambda: n
    n = 5
    return lambda: n + 1


def return_raises_in_loop(items):
    for item in items:
        try:
            return 1 // item
        except ZeroDivisionError:
            note("next")
    return "none"


def return_twice_nested(a, b):
    if a:
        if b:
            return "both"
        x = "only a"
    else:
        x = "no a"
        if b:
            return "only b"
    return x


def unreachable_code(x):
    return x
    note("never")


def unreachable_binding(x):
    if x:
        return y
    return 0
    y = 1


def return_in_match(point):
    match point:
        case (0, 0):
            return "origin"
        case (0, y):
            return y
        case (x, 0) if x > 0:
            return x
    return "elsewhere"


def loop_then_return(items):
    for item in items:
        if item == "stop":
            return "stopped"
        if item == "skip":
            continue
        if item == "out":
            break
        note("item", item)
    else:
        return "exhausted"
    return "out"


def return_none_explicitly(x):
    if x:
        return None
    return False


def mutual(n, steps=0):
    if n == 1:
        return steps
    if n % 2:
        return mutual(3 * n + 1, steps + 1)
    return mutual(n // 2, steps + 1)


def returns_from_nested_function(items):
    def inner(item):
        for i in range(3):
            if i == item:
                return f"found {i}"
        return None

    for item in items:
        result = inner(item)
        if result:
            return result
    return "none of them"


CALLS = [
    "[guard_clauses(x) for x in (None, 'a', -1, 4)]", "bare_return(1)", "bare_return(0)", "returns_nothing(1)",
    "return_in_with('g')", "return_swallowed(1)", "return_swallowed(0)",
    "return_swallowed_without_rest(1)", "return_swallowed_without_rest(0)",
    "exit_raises_after_return()", "exit_raises_and_outer_swallows()",
    "return_in_try(2)", "return_in_try(0)", "return_in_try('a')",
    "finally_overrides(1)", "finally_overrides(0)", "finally_sees_locals(1)", "finally_sees_locals(0)",
    "return_in_else_of_try(1)", "return_in_else_of_try(0)", "return_in_handler(0)", "return_in_handler(1)",
    "return_in_handler(5)", "return_in_finally_in_loop([1, 2])", "return_in_finally_in_loop([-1])",
    "return_in_finally_in_loop([1])", "return_from_while_else(6)", "return_from_while_else(2)",
    "return_value_order([0, 1, 2])", "return_value_order([])", "return_lambda(1)()", "return_lambda(0)()",
    "return_raises_in_loop([0, 0, 1])", "return_raises_in_loop([0])", "return_raises_in_loop(['a'])",
    "[return_twice_nested(a, b) for a in (0, 1) for b in (0, 1)]", "unreachable_code(3)",
    "unreachable_binding(0)", "unreachable_binding(1)",
    "[return_in_match(p) for p in ((0, 0), (0, 7), (5, 0), (-5, 0), 3)]",
    "loop_then_return(['a', 'skip', 'b'])", "loop_then_return(['stop'])", "loop_then_return(['out', 'a'])",
    "return_none_explicitly(1)", "return_none_explicitly(0)", "mutual(27)", "mutual(1)",
    "returns_from_nested_function([7, 2])", "returns_from_nested_function([])",
]
