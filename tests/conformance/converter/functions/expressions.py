"""Expressions: order of evaluation, short-circuiting, how often operands are evaluated."""

from environment import *


def and_is_lazy(a, b):
    return note("a", a) and note("b", b)


def or_is_lazy(a, b):
    return note("a", a) or note("b", b)


def value_not_bool(a, b, c):
    return a and b or c


def not_of_logic(a, b):
    return not (a or b), not a and not b


def truth_asked_once(a, b, c):
    return a and b and c


def mixed(a, b, c, d):
    return a or b and c or d


def chain(a, b, c):
    return a < b < c


def chain_evaluates_once(a, b, c):
    return note("a", a) < note("b", b) <= note("c", c) != 5


def chain_stops(a, b, c):
    return note("a", a) > note("b", b) > note("c", c)


def chain_of_probes():
    return Probe("a") < Probe("b") < Probe("c") < 3


def chain_with_membership(x, items):
    return 0 < x in items


def chain_with_identity(x):
    return x is not None is not False


def chain_in_condition(low, x, high):
    if low <= x < high:
        return "inside"
    return "outside"


def chain_negated(a, b, c):
    return not a < b < c


def arithmetic_order():
    return note(1, 1) + note(2, 2) * note(3, 3) - note(4, 4) ** note(5, 2)


def display_order():
    return [note(1), note(2)], {note("k", 1): note("v", 2)}, (note(3), note(4))


def subscript_order(items):
    items[note("index", 0)] = note("value", 9)
    return items[note("low", 0) : note("high", 2)]


def attribute_order(box):
    note("target", box).x = note("value", 1)
    return box


def call_order():
    return note("f", pick)(note("a", 1), *note("b", [2]), k=note("c", 3), **note("d", {"m": 4}))


def comparison_returns_anything():
    return (Probe("p") < 1).value, Probe("q") == 2


def equality_on_lists(a, b):
    return a == b, a != b, a is b, a == b == a


def membership(x, items):
    return x in items, x not in items, not x in items


def in_asks_the_container():
    p = Probe("p")
    return 1 in p, 2 not in p


def ternary_chain(x):
    return (
        "negative" if x < 0
        else "zero" if x == 0
        else "small" if x < 10
        else "large"
    )


def ternary_inside_logic(a, b):
    return (a if a else b) and (b if b else a)


def logic_inside_ternary(a, b):
    return a or b if a and b else not a


def ternary_as_callee(flag):
    return (str.upper if flag else str.lower)("Mixed")


def ternary_as_target_of_attribute(flag, a, b):
    (a if flag else b).x = 1
    return a, b


def ternary_in_subscript(flag, items):
    return items[0 if flag else -1]


def ternary_in_argument(flag):
    return pick(1 if flag else 2, k=3 if flag else 4)


def walrus_in_logic(a):
    if (n := a) and (m := n - 1):
        return n, m
    return n


def walrus_unbound(a):
    if a and (m := a):
        pass
    return m


def walrus_in_call(items):
    return pick(n := len(items), n + 1)


def walrus_in_chain(a):
    return 0 < (n := a) < 10, n


def walrus_in_subscript(items):
    return items[(i := 1)], i


def unary(a):
    return -a, +a, ~a, not a


def slices(items):
    return items[1:], items[:-1], items[::2], items[::-1], items[1:3:1]


def starred_display(items):
    return [0, *items, *items[:1]], (*items, 1), {*items}


def is_none(x):
    return x is None or x is not None and x > 0


def nested_calls(x):
    return max(min(x, 5), min(3, abs(-x)))


def ellipsis_and_constants():
    return ..., b"bytes", 1j, 0x10, 1_000, 1e3, None, True


def long_condition(a, b, c):
    return (
        a > 0  # first
        and b > 0
        # between
        and c > 0
    )


def error_in_right_operand(a):
    return a and a.missing or 1


def error_in_chain(a):
    return 0 < a < "text"


def lambda_of_logic(a):
    return (lambda x: x and x + 1 or -1)(a)


def lambda_with_ternary(items):
    return sorted(items, key=lambda v: v if v > 0 else -v)


def lambda_defaults(a):
    f = lambda x, y=a, *z, k=a or 5, **rest: (x, y, z, k, rest)
    a = 100
    return f(1), f(1, 2, 3, k=4, m=5)


def lambda_nested(a):
    return (lambda x: (lambda y: x + y if y else a))(1)(2), (lambda: (lambda: a)())()


def immediately_called(n):
    return (lambda k: k * 2)(n) if n else (lambda: "none")()


def conditional_expression_statement(flag):
    note("yes") if flag else note("no")
    flag and note("and")
    flag or note("or")


CALLS = [
    "and_is_lazy(0, 1)", "and_is_lazy(1, [])", "or_is_lazy(0, 1)", "or_is_lazy('a', 1)", "value_not_bool(1, 0, [])",
    "value_not_bool(0, 1, 2)", "not_of_logic(0, 0)", "not_of_logic(1, 0)",
    "truth_asked_once(Truth('a', True), Truth('b', True), Truth('c', False)).name",
    "truth_asked_once(Truth('a', True), Truth('b', False), Truth('c', False)).name",
    "truth_asked_once(Truth('a', True), Truth('b', None), 3)", "mixed(0, 1, 0, [])", "mixed(0, 1, 2, 3)",
    "chain(1, 2, 3)", "chain(1, 2, 2)", "chain(1, 'a', 2)", "chain_evaluates_once(1, 2, 3)", "chain_evaluates_once(3, 2, 1)",
    "chain_stops(1, 2, 3)", "chain_of_probes().name", "chain_with_membership(1, [1])", "chain_with_membership(0, [0])",
    "chain_with_identity(None)", "chain_with_identity(1)", "chain_in_condition(0, 1, 2)", "chain_in_condition(0, 2, 2)",
    "chain_negated(1, 2, 3)", "chain_negated(3, 2, 1)", "arithmetic_order()", "display_order()",
    "subscript_order([1, 2, 3])", "subscript_order([])", "attribute_order(Bag())", "call_order()",
    "comparison_returns_anything()[0]", "equality_on_lists([1], [1])", "membership(1, [1])", "membership(1, '1')",
    "in_asks_the_container()", "[ternary_chain(x) for x in (-1, 0, 5, 50)]", "ternary_inside_logic(0, 1)",
    "logic_inside_ternary(1, 2)", "logic_inside_ternary(0, 2)", "ternary_as_callee(True)", "ternary_as_callee(False)",
    "ternary_as_target_of_attribute(True, Bag(), Bag())", "ternary_in_subscript(0, [1, 2])", "ternary_in_argument(1)",
    "walrus_in_logic(2)", "walrus_in_logic(1)", "walrus_in_logic(0)", "walrus_unbound(1)", "walrus_unbound(0)",
    "walrus_in_call([1])", "walrus_in_chain(5)", "walrus_in_subscript([1, 2])", "unary(3)", "unary('a')",
    "slices([1, 2, 3, 4])", "starred_display([1, 2])", "is_none(None)", "is_none(1)", "nested_calls(4)",
    "ellipsis_and_constants()", "long_condition(1, 1, 1)", "long_condition(1, 0, None)", "error_in_right_operand(1)",
    "error_in_right_operand(0)", "error_in_chain(1)", "error_in_chain(-1)", "lambda_of_logic(0)", "lambda_of_logic(3)",
    "lambda_with_ternary([3, -1, 2])", "lambda_defaults(0)", "lambda_nested(7)", "immediately_called(2)",
    "immediately_called(0)", "conditional_expression_statement(1)", "conditional_expression_statement(0)",
]
