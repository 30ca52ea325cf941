"""Types that the branches of a staged `if` must share. The recorder runs each call in main() separately, because most raise."""

import tensorflow as tf


@tf.function
def integer_and_float(x):
    if x > 0:
        y = 1
    else:
        y = 2.0
    return y


@tf.function
def cast_in_one_branch(x):
    if x > 0:
        x = tf.cast(x, tf.float32)
    return x


@tf.function
def integer_or_float_ternary(x):
    return 1 if x > 0 else 0.5


@tf.function
def float_and_float(x):
    if x > 0:
        y = 1.0
    else:
        y = 2.0
    return y


@tf.function
def cast_in_both(x):
    y = tf.cast(x, tf.float32)
    if x > 0:
        y = y * 0.5
    return y


@tf.function
def number_takes_dtype(x):
    if x > 0:
        y = tf.constant(1.5)
    else:
        y = 2.0
    return y


@tf.function
def tuple_and_scalar(x):
    if x > 0:
        y = (x, x)
    else:
        y = x
    return y


@tf.function
def different_keys(x):
    y = {"a": x}
    if x > 0:
        y = {"a": x, "b": x}
    return y


@tf.function
def pair_or_triple(x):
    return (x, x) if x > 0 else (x, x, x)


@tf.function
def same_structure(x):
    if x > 0:
        y = {"a": x, "b": (x, 1)}
    else:
        y = {"a": -x, "b": (2, x)}
    return y


@tf.function
def pair_or_pair(x):
    return (x, 1) if x > 0 else (x, 2)


class Box:
    def __init__(self, value):
        self.value = value


@tf.function
def object_in_branch(x):
    box = Box(x)
    if x > 0:
        box = Box(x + 1)
    return box.value


@tf.function
def function_in_branch(x):
    if x > 0:
        f = tf.sin
    else:
        f = tf.cos
    return f(tf.cast(x, tf.float32))


@tf.function
def string_and_object(x):
    if x > 0:
        mode = object()
    else:
        mode = "plain"
    return x if mode == "plain" else -x


@tf.function
def value_in_branch(x):
    box = Box(x)
    if x > 0:
        box.value = x + 1
    return box.value


@tf.function
def call_in_branch(x):
    x = tf.cast(x, tf.float32)
    if x > 0:
        y = tf.sin(x)
    else:
        y = tf.cos(x)
    return y


def main():
    integer_and_float(tf.constant(3))
    cast_in_one_branch(tf.constant(3))
    integer_or_float_ternary(tf.constant(3))
    float_and_float(tf.constant(3))
    cast_in_both(tf.constant(3))
    number_takes_dtype(tf.constant(3))
    tuple_and_scalar(tf.constant(3))
    different_keys(tf.constant(3))
    pair_or_triple(tf.constant(3))
    same_structure(tf.constant(3))
    pair_or_pair(tf.constant(3))
    object_in_branch(tf.constant(3))
    function_in_branch(tf.constant(3))
    string_and_object(tf.constant(3))
    value_in_branch(tf.constant(3))
    call_in_branch(tf.constant(3))


EXAMPLES = {
    "integer_and_float": [(tf.constant(3),)],
    "cast_in_one_branch": [(tf.constant(3),)],
    "integer_or_float_ternary": [(tf.constant(3),)],
    "float_and_float": [(tf.constant(3),)],
    "cast_in_both": [(tf.constant(3),)],
    "number_takes_dtype": [(tf.constant(3),)],
    "tuple_and_scalar": [(tf.constant(3),)],
    "different_keys": [(tf.constant(3),)],
    "pair_or_triple": [(tf.constant(3),)],
    "same_structure": [(tf.constant(3),)],
    "pair_or_pair": [(tf.constant(3),)],
    "object_in_branch": [(tf.constant(3),)],
    "function_in_branch": [(tf.constant(3),)],
    "string_and_object": [(tf.constant(3),)],
    "value_in_branch": [(tf.constant(3),)],
    "call_in_branch": [(tf.constant(3),)],
}


RULES = {
    "integer_and_float": "AG104",
    "cast_in_one_branch": "AG104",
    "integer_or_float_ternary": "AG104",
    "float_and_float": None,
    "cast_in_both": None,
    "number_takes_dtype": None,
    "tuple_and_scalar": "AG105",
    "different_keys": "AG105",
    "pair_or_triple": "AG105",
    "same_structure": None,
    "pair_or_pair": None,
    "object_in_branch": "AG106",
    "function_in_branch": "AG106",
    "string_and_object": "AG106",
    "value_in_branch": None,
    "call_in_branch": None,
}


if __name__ == "__main__":
    main()
