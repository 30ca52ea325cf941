"""Branches: which one is taken, which names are bound afterwards, how often the test is evaluated."""

from environment import *


def sign(x):
    if x > 0:
        return 1
    elif x < 0:
        return -1
    return 0


def grade(points):
    if points >= 90:
        mark = "A"
    elif points >= 80:
        mark = "B"
    elif points >= 70:
        mark = "C"
    else:
        mark = "F"
    return mark


def bound_in_one_branch(flag):
    if flag:
        value = "bound"
    return value


def bound_in_the_other(flag):
    if flag:
        pass
    else:
        value = 1
    note("after", flag)
    return value


def asked_once(flag):
    if flag:
        return "yes"
    return "no"


def asked_in_order(a, b, c):
    if a:
        return "a"
    elif b:
        return "b"
    elif c:
        return "c"
    else:
        return None


def nested(x, y):
    if x > 0:
        if y > 0:
            quadrant = 1
        else:
            quadrant = 4
    else:
        if y > 0:
            quadrant = 2
        else:
            quadrant = 3
    return quadrant


def swap_if_needed(a, b):
    if a > b:
        a, b = b, a
    return a, b


def shadows_a_parameter(x):
    if x is None:
        x = []
    x.append(1)
    return x


def test_with_effect(xs):
    if xs.pop():
        xs.append("true")
    else:
        xs.append("false")
    return xs


def ternary(a, b):
    return a if a > b else b


def nested_ternaries(n):
    return "many" if n > 2 else "two" if n == 2 else "one" if n == 1 else "none"


def ternary_in_test(n):
    if (n > 0 if n % 2 else n < 0):
        return "odd and positive, or even and negative"
    return "neither"


def ternary_runs_one_side(flag):
    return note("then", 1) if flag else note("else", 2)


def deleted_in_branch(flag):
    value = 3
    if flag:
        del value
    return value


def rebound_after_delete(flag):
    value = 3
    if flag:
        del value
        value = 4
    return value


def only_else_returns(x):
    if x:
        y = "kept"
    else:
        return "left"
    return y


def all_branches_return(n):
    if n == 0:
        return "zero"
    else:
        if n == 1:
            return "one"
        else:
            return "more"


def empty_test_result(items):
    if not items:
        return "empty"
    if items and not items[0]:
        return "starts with nothing"
    return "something"


def two_names_one_branch(flag):
    if flag:
        low, high = 0, 1
    else:
        low = high = None
    return low, high


def attribute_in_branch(box, flag):
    if flag:
        box.x = 10
        box.seen = True
    else:
        box.x += 1
    return box


def item_in_branch(table, key):
    if key in table:
        table[key] += 1
    else:
        table[key] = 1
    return table


def comparison_of_lengths(a, b):
    if len(a) == len(b): return "same"
    if len(a) < len(b): return "first is shorter"
    return "second is shorter"


def walrus_in_test(text):
    if (n := len(text)) > 3:
        return f"long: {n}"
    return f"short: {n}"


def walrus_in_elif(x):
    if (half := x // 2) > 5:
        kind = "big"
    elif (double := x * 2) > 5:
        kind = double
    else:
        kind = (half, double)
    return kind


def raising_test(x):
    result = "before"
    try:
        if 1 / x > 0:
            result = "positive"
        else:
            result = "negative"
    except ZeroDivisionError as error:
        result = str(error)
    return result


CALLS = [
    "sign(3)", "sign(-3)", "sign(0)",
    "[grade(p) for p in (95, 85, 75, 5)]",
    "bound_in_one_branch(True)", "bound_in_one_branch(False)",
    "bound_in_the_other(True)", "bound_in_the_other(False)",
    "asked_once(Truth('t', True))", "asked_once(Truth('t', False))", "asked_once(Truth('t', None))",
    "asked_in_order(Truth('a', False), Truth('b', True), Truth('c', True))",
    "asked_in_order(Truth('a', False), Truth('b', False), Truth('c', False))",
    "asked_in_order(Truth('a', False), Truth('b', None), Truth('c', False))",
    "[nested(x, y) for x in (1, -1) for y in (1, -1)]",
    "swap_if_needed(2, 1)", "swap_if_needed(1, 2)",
    "shadows_a_parameter(None)", "shadows_a_parameter([0])",
    "test_with_effect([0])", "test_with_effect([1])", "test_with_effect([])",
    "ternary(1, 2)", "ternary(Probe('a'), 2)",
    "[nested_ternaries(n) for n in range(5)]",
    "[ternary_in_test(n) for n in range(-2, 3)]",
    "ternary_runs_one_side(True)", "ternary_runs_one_side(Truth('t', False))",
    "deleted_in_branch(True)", "deleted_in_branch(False)",
    "rebound_after_delete(True)", "rebound_after_delete(False)",
    "only_else_returns(1)", "only_else_returns(0)",
    "[all_branches_return(n) for n in range(3)]",
    "empty_test_result([])", "empty_test_result([0])", "empty_test_result([1])", "empty_test_result(None)",
    "two_names_one_branch(True)", "two_names_one_branch(False)",
    "attribute_in_branch(Bag(x=1), True)", "attribute_in_branch(Bag(x=1), False)", "attribute_in_branch(Bag(), False)",
    "attribute_in_branch(Probe('p', x=1), False)",
    "item_in_branch({}, 'k')", "item_in_branch({'k': 1}, 'k')", "item_in_branch(Probe('p'), 'k')",
    "comparison_of_lengths('a', 'b')", "comparison_of_lengths('', 'b')", "comparison_of_lengths(1, 'b')",
    "walrus_in_test('abcd')", "walrus_in_test('')",
    "walrus_in_elif(20)", "walrus_in_elif(4)", "walrus_in_elif(1)",
    "raising_test(1)", "raising_test(-1)", "raising_test(0)",
]
