"""Dtypes and shapes that a staged loop must keep. The recorder runs each call in main() separately, because most raise."""

import tensorflow as tf


@tf.function
def integer_becomes_float(n):
    total = 0
    for i in tf.range(n):
        total = total + 0.5
    return total


@tf.function
def integer_assigned_float(n):
    mean = 0
    for i in tf.range(n):
        mean = tf.cast(i, tf.float32) / 2.0
    return mean


@tf.function
def halved(x):
    while x > 1:
        x = x / 2
    return x


@tf.function
def zero_plus_floats(values):
    total = 0
    for v in values:
        total += v
    return total


@tf.function
def float_before(n):
    total = 0.0
    for i in tf.range(n):
        total = total + 0.5
    return total


@tf.function
def floor_halved(x):
    while x > 1:
        x = x // 2
    return x


@tf.function
def unrolled_integer_then_float(x, n):
    total = 0
    for _ in range(n):
        total = total + x
    return total


@tf.function
def grows(n):
    v = tf.zeros([0])
    for i in tf.range(n):
        v = tf.concat([v, [1.0]], 0)
    return v


@tf.function
def doubles(x):
    while tf.reduce_sum(x) < 10.0:
        x = tf.repeat(x, 2)
    return x


@tf.function
def narrow_invariant(n):
    v = tf.zeros([1])
    for i in tf.range(n):
        tf.autograph.experimental.set_loop_options(shape_invariants=[(v, tf.TensorShape([2]))])
        v = tf.concat([v, [1.0]], 0)
    return v


@tf.function
def scalar_becomes_vector(n):
    total = tf.constant(0.0)
    for i in tf.range(n):
        total = total + tf.ones([2])
    return total


@tf.function
def grows_with_invariant(n):
    v = tf.zeros([0])
    for i in tf.range(n):
        tf.autograph.experimental.set_loop_options(shape_invariants=[(v, tf.TensorShape([None]))])
        v = tf.concat([v, [1.0]], 0)
    return v


@tf.function
def grows_unrolled(x, n):
    for _ in range(n):
        x = tf.concat([x, [1.0]], 0)
    return x


@tf.function
def same_shape(n):
    v = tf.zeros([2])
    for i in tf.range(n):
        v = tf.concat([v[1:], [tf.cast(i, tf.float32)]], 0)
    return v


def main():
    integer_becomes_float(tf.constant(3))
    integer_assigned_float(tf.constant(3))
    halved(tf.constant(8))
    zero_plus_floats(tf.constant([1.0, 2.0]))
    float_before(tf.constant(3))
    floor_halved(tf.constant(8))
    unrolled_integer_then_float(tf.constant(0.5), 3)
    grows(tf.constant(3))
    doubles(tf.constant([1.0]))
    narrow_invariant(tf.constant(3))
    scalar_becomes_vector(tf.constant(3))
    grows_with_invariant(tf.constant(3))
    grows_unrolled(tf.constant([3.0]), 2)
    same_shape(tf.constant(3))


EXAMPLES = {
    "integer_becomes_float": [(tf.constant(3),)],
    "integer_assigned_float": [(tf.constant(3),)],
    "halved": [(tf.constant(8),)],
    "zero_plus_floats": [(tf.constant([1.0, 2.0]),)],
    "float_before": [(tf.constant(3),)],
    "floor_halved": [(tf.constant(8),)],
    "unrolled_integer_then_float": [(tf.constant(0.5), 3)],
    "grows": [(tf.constant(3),)],
    "doubles": [(tf.constant([1.0]),)],
    "narrow_invariant": [(tf.constant(3),)],
    "scalar_becomes_vector": [(tf.constant(3),)],
    "grows_with_invariant": [(tf.constant(3),)],
    "grows_unrolled": [(tf.constant([3.0]), 2)],
    "same_shape": [(tf.constant(3),)],
}


RULES = {
    "integer_becomes_float": "AG204",
    "integer_assigned_float": "AG204",
    "halved": "AG204",
    "zero_plus_floats": "AG204",
    "float_before": None,
    "floor_halved": None,
    "unrolled_integer_then_float": None,
    "grows": "AG205",
    "doubles": "AG205",
    "narrow_invariant": "AG205",
    "scalar_becomes_vector": "AG205",
    "grows_with_invariant": None,
    "grows_unrolled": None,
    "same_shape": None,
}


if __name__ == "__main__":
    main()
