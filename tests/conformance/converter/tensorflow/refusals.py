"""Errors of TensorFlow during tracing: ag-lsp's converted code has the same error at the same line of the user's code."""

import tensorflow as tf
from cases import T, case


@case(T(3))
def undefined_in_a_branch(x):
    if x > 0:
        y = x
    return y


@case(T(3))
def missing_return(x):
    if x > 0:
        return x


@case(T(3))
def branch_dtypes(x):
    if x > 0:
        y = 1
    else:
        y = 2.0
    return y


@case(T(3))
def branch_none(x):
    y = None
    if x > 0:
        y = x
    return y


@case(T(3))
def branch_structures(x):
    if x > 0:
        y = (x, x)
    else:
        y = x
    return y


@case(T(3))
def condition_not_boolean(x):
    if x:
        x = x + 1
    return x


@case(T([True, False]))
def condition_not_scalar(v):
    if v:
        return T(1)
    return T(2)


@case(T(3))
def loop_dtype(n):
    s = 0
    for i in tf.range(n):
        s = s + 0.5
    return s


@case(T(3))
def loop_shape(n):
    v = tf.zeros([0], tf.int32)
    for i in tf.range(n):
        v = tf.concat([v, [i]], 0)
    return v


@case(T(3))
def loop_undefined(n):
    for i in tf.range(n):
        y = object()
        if i > 1:
            y = y
    return y


@case(T(3))
def return_in_loop(n):
    for i in tf.range(n):
        if i > 1:
            return i
    return n


@case(T(3))
def python_loop_with_staged_break(n):
    for i in range(5):
        if i > n:
            break
    return n


@case(T(3))
def while_becomes_tensor(n):
    going = True
    while going:
        n = n - 1
        going = n > 0
    return n


@case(T(3))
def list_in_loop(n):
    items = []
    for i in tf.range(n):
        items.append(i)
    return tf.stack(items)


@case(T(3))
def negation_of_number(x):
    return not x


@case(T(3))
def tensor_as_bool(x):
    return bool(x > 2)


@case(T([3, 4]))
def item_assignment(v):
    v[0] = 1
    return v


@case(T(3))
def comprehension_over_tensor(x):
    return [y for y in tf.range(x)]


@case(T(3))
def wrong_arguments(x):
    def f(a, b):
        if a > b:
            return a
        return b

    return f(x)


@case(T(3))
def unknown_name(x):
    if x > 0:
        x = x + 1
    return x + this_name_is_nowhere  # noqa: F821


@case(T(3))
def attribute_of_none(x):
    holder = None
    for i in tf.range(x):
        x = x + holder.value
    return x


@case(T(3))
def fails_in_lambda(x):
    f = lambda v: v.missing
    return f(x)


@case(T(3))
def fails_in_ternary(x):
    return x + 1 if x > 0 else x.missing


@case(T(3))
def fails_in_the_middle_of_a_line(x):
    return tf.add(x, 1) + tf.matmul(x, x) + tf.add(x, 2)


@case(T(3))
def fails_in_nested_function(x):
    def inner(v):
        while v > 0:
            v = v - undefined_there  # noqa: F821
        return v

    return inner(x)


@case(T(3))
def always_raises_in_branch(x):
    if x > 100:
        raise ValueError("too large")
    return x


@case(T(3))
def numpy_of_symbolic(x):
    y = 0
    if x > 0:
        y = x.numpy()
    return y


@case(T([1, 2, 3]))
def unpacks_tensor(v):
    a, b, c = v
    return a + b + c
