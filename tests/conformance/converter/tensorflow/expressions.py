"""Conditional and logical expressions, comparisons, calls in expressions."""

import tensorflow as tf
from cases import T, case


@case(T(3), T(5))
@case(T(-3), T(5))
def ternary(x, y):
    return x * y if x > 0 else y


@case(T(3))
@case(T(-3))
def ternary_in_argument(x):
    return tf.add(x if x > 0 else -x, 1)


@case(T(3))
@case(T(-3))
def ternary_twice(x):
    return (x if x > 0 else -x) + (1 if x > 0 else 2)


@case(True, T(3))
@case(False, T(3))
def python_ternary(flag, x):
    return x if flag else -x


@case(T(True), T(False))
@case(T(True), T(True))
@case(T(False), T(True))
def conjunction(a, b):
    return a and b


@case(T(True), T(False))
@case(T(False), T(False))
def disjunction(a, b):
    return a or b


@case(T(True))
@case(T(False))
def negation(a):
    return not a


@case(T(True), T(False), T(True))
@case(T(False), T(False), T(False))
@case(T(True), T(True), T(False))
def mixed_logic(a, b, c):
    return (a and b or not c) and (a or c)


@case(False, T(True))
@case(True, T(True))
def python_short_circuit(flag, t):
    return flag and t


@case(None, T(3))
@case(T(2), T(3))
def guard_against_none(x, y):
    return x is not None and x < y


@case(T(3), T(5), T(7))
@case(T(3), T(8), T(7))
@case(T(9), T(8), T(10))
def chained(a, b, c):
    return a < b < c


@case(T(3))
@case(T(11))
def chained_with_literals(x):
    return 0 < x <= 10


@case(1, 2, 3)
@case(1, 3, 2)
def chained_python(a, b, c):
    return a < b < c


@case(T(2), T(2))
@case(T(2), T(3))
def equality(a, b):
    return a == b, a != b


@case([1, 2], 2)
@case([1, 2], 3)
def membership(items, x):
    return x in items, x not in items


@case(T(2))
def identity(x):
    y = x
    return x is y, x is not y


@case(T(3), T(4))
def arithmetic(a, b):
    return (a + b) * (a - b) // 2, a % b, a**b, -a, +b


@case(T([1, 2, 3, 4]))
def slices(v):
    return v[1:3], v[::2], v[-1], v[..., 0]


@case(T([[1, 2], [3, 4]]))
def indices(m):
    return m[0, 1], m[1][0], m[:, 0]


@case("name", 3)
def formatted(name, n):
    return f"{name}-{n:03d}-{'odd' if n % 2 else 'even'}"


@case(T(3))
def star_arguments(x):
    def total(*values, scale=1):
        result = T(0)
        for v in values:
            result += v
        return result * scale

    arguments = [x, x + 1]
    options = {"scale": 2}
    return total(*arguments, 10, *[x], **options)


@case(T(3))
def keyword_arguments(x):
    def f(a, *, b, c=3):
        if a > 0:
            return a * b + c
        return a

    return f(x, b=2), f(a=x, b=1, c=0), f(**{"a": x, "b": 5})


@case(T(5))
@case(T(-5))
def lambda_inside(x):
    clip = lambda v: v if v < 3 else T(3)
    return clip(x)


@case(T(5), T(2))
def parenthesised(a, b):
    return (
        a  # the first
        + b  # the second
        if a > b
        else b
    )


@case(T([1.0, 2.0]))
def matrix_product(v):
    m = tf.linalg.diag(v)
    return m @ m


@case([T(1), T(2)])
def unpacking(pair):
    first, second = pair
    (third, *rest), fourth = (first, second, first), second
    return third + fourth, rest


@case(T(4))
def walrus_free_default(x, y=None):
    y = y if y is not None else x
    return x + y


@case(T(3))
def conditional_call(x):
    f = tf.square if x.dtype == tf.int32 else tf.sqrt
    return f(x)


@case(T(3), T(4))
def ternary_of_calls(a, b):
    def left(v):
        return v * 2

    def right(v):
        return v * 3

    return left(a) if a > b else right(b)


@case(T(0))
@case(T(5))
def ternary_as_condition(x):
    if (x if x > 0 else T(1)) > 2:
        return T("big")
    return T("small")
