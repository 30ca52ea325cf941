"""`if` statements: staged when the condition is a Tensor, Python otherwise."""

import tensorflow as tf
from cases import T, case


@case(T(3))
@case(T(-3))
def both_branches(x):
    if x > 0:
        y = x * 2
    else:
        y = -x
    return y


@case(T(3), T(1))
@case(T(-3), T(1))
def one_branch(x, y):
    if x > 0:
        y = y + x
    return y


@case(T(3))
@case(T(0))
@case(T(-3))
def chain(x):
    if x > 0:
        sign = 1
    elif x < 0:
        sign = -1
    else:
        sign = 0
    return sign


@case(T(12))
@case(T(5))
@case(T(-4))
def nested(x):
    if x > 0:
        if x > 10:
            r = x - 10
        else:
            r = x + 10
    else:
        r = x
    return r


@case(True, T(4))
@case(False, T(4))
def python_condition(flag, x):
    if flag:
        x = x + 1
    else:
        x = x - 1
    return x


@case(True, T(4))
@case(False, T(4))
@case(True, T(-4))
def python_outside_staged_inside(flag, x):
    if flag:
        if x > 0:
            x = x * 10
    return x


@case(T(4), True)
@case(T(-4), False)
def staged_outside_python_inside(x, flag):
    if x > 0:
        if flag:
            x = x * 10
        else:
            x = x * 100
    return x


@case(T(4.0))
@case(T(-4.0))
def several_names(x):
    low = T(0.0)
    high = T(1.0)
    if x > 0:
        low, high = high, x
    else:
        low = x
    return low, high


@case(T(2))
@case(T(-2))
def temporary_in_branch(x):
    if x > 0:
        scratch = x + 1
        y = scratch * scratch
    else:
        y = x
    return y


@case(T(2))
@case(T(-2))
def docstring_and_comments(x):
    """Doubles positive values."""
    # Not a statement.
    if x > 0:  # positive
        # doubled
        x = x * 2
    return x


@case(None, T(1))
@case(T(5), T(1))
def none_is_python(x, default):
    if x is None:
        x = default
    if x > 2:
        x = x - 2
    return x


@case(T([1.0, -2.0]))
@case(T([-1.0, -2.0]))
def reduced_condition(x):
    if tf.reduce_sum(x) < 0:
        x = tf.abs(x)
    return x


@case(T(True), T(False))
@case(T(False), T(False))
def boolean_tensor(a, b):
    if a:
        b = tf.logical_not(b)
    return b


@case(T(3), T(3))
@case(T(3), T(4))
def staged_comparison_of_tensors(a, b):
    if tf.equal(a, b):
        r = T("same")
    else:
        r = T("different")
    return r


@case(T(1))
@case(T(0))
def pass_in_branch(x):
    if x > 0:
        pass
    else:
        x = x + 100
    return x


@case(T(7))
@case(T(-7))
def repeated_conditions(x):
    if x > 0:
        x = x - 1
    if x > 0:
        x = x - 1
    if x > 0:
        x = x - 1
    return x


@case(T(1), T(2))
@case(T(2), T(1))
def swap(a, b):
    if a > b:
        a, b = b, a
    return a, b


@case(T(5))
@case(T(-5))
def augmented(x):
    total = 1
    if x > 0:
        total += x
    else:
        total -= x
    total *= 2
    return total


@case(T(4))
@case(T(40))
@case(T(400))
@case(T(4000))
def long_chain(x):
    if x < 10:
        digits = 1
    elif x < 100:
        digits = 2
    elif x < 1000:
        digits = 3
    else:
        digits = 4
    return digits


@case(T(3), T([1, 2, 3]))
@case(T(-3), T([1, 2, 3]))
def shapes_may_differ(x, v):
    if x > 0:
        v = v[:2]
    return v


@case(T(1))
@case(T(2))
def structure(x):
    if x > 1:
        pair = (x, {"k": x + 1})
    else:
        pair = (x - 1, {"k": x})
    return pair


@case(T(1))
@case(T(-1))
def undefined_in_both_until_after(x):
    if x > 0:
        y = x
    else:
        y = -x
    if y > 0:
        z = y
    else:
        z = x
    return z


@case(T(1), T(1))
@case(T(1), T(-1))
@case(T(-1), T(1))
def walking_a_decision_table(a, b):
    if a > 0 and b > 0:
        r = 1
    elif a > 0 or b > 0:
        r = 2
    else:
        r = 3
    return r


@case(T(3))
def annotated(x: tf.Tensor) -> tf.Tensor:
    y: tf.Tensor = x
    if x > 0:
        y = y + 1
    return y


@case(T(5))
@case(T(-5))
def deleted_before(x):
    y = x
    del y
    if x > 0:
        y = x * 2
    else:
        y = x * 3
    return y
