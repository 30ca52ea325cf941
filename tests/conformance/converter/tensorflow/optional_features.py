"""Functions converted with features that are off by default in `tf.function`."""

import tensorflow as tf
from cases import T, case, features


@case(T(3))
@case(T(-3))
@features("ASSERT_STATEMENTS")
def staged_assert(x):
    assert x > 0, "must be positive"
    return x


@case(T(3))
@features("ASSERT_STATEMENTS")
def assert_without_message(x):
    assert x > 0
    return x + 1


@case(T(2), T(2))
@case(T(2), T(3))
@features("EQUALITY_OPERATORS")
def staged_equality(a, b):
    if a == b:
        return a
    if a != b:
        return b
    return a - b


@case(T(2), "a")
@features("EQUALITY_OPERATORS")
def python_equality(x, name):
    if name == "a" and name != "b":
        x = x + 1
    return x


@case(T([1, 2, 3]))
@features("LISTS")
def list_of_python_values(v):
    items = [1, 2]
    items.append(3)
    return items[0] + items[-1] + v[1]


@case(T([1, 2, 3]))
@features("LISTS")
def list_popped(v):
    items = [v, v + 1]
    last = items.pop()
    return last


@case(T([1, 2, 3]))
@features("LISTS")
def item_of_tensor_set(v):
    v[0] = 10
    return v


@case(T([1, 2, 3]))
@features("LISTS")
def item_of_array(v):
    out = tf.TensorArray(tf.int32, size=3)
    for i in tf.range(3):
        out[i] = v[i] * 2
    return out.stack()


@case(T(3))
@features("LISTS")
def appended_in_python_loop(x):
    items = []
    for n in range(3):
        items.append(x + n)
    return items


@case(T(3))
@features("BUILTIN_FUNCTIONS")
def builtins_too(x):
    return abs(x), len([x, x])


@case(T(3))
@case(T(-3))
@features("NAME_SCOPES")
def named_scopes(x):
    if x > 0:
        x = x + 1
    return x


@case(T(3))
@features("AUTO_CONTROL_DEPS")
def control_dependencies(x):
    if x > 0:
        x = x + 1
    return x


@case(T(3))
@case(T(-3))
@features("EQUALITY_OPERATORS", "ASSERT_STATEMENTS")
def two_features(x):
    def same(a, b):
        assert a != 100, "too large"
        return a == b

    if same(x, 3):
        return x * 2
    return x
