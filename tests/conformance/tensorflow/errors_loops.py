"""What a staged loop asks of the names it carries. Every call in main() is a program of its own."""

import tensorflow as tf


class Box:
    def __init__(self, value):
        self.value = value


@tf.function
def undefined_before_while(x):
    while x > 0:
        x = x - 1
        y = Box(x)
    return y


@tf.function
def undefined_and_read_first(n):
    for i in tf.range(n):
        if i > 0:
            total = total + i
        else:
            total = Box(i)
    return total


@tf.function
def accumulates_undefined(n):
    for i in tf.range(n):
        total += i
    return total


@tf.function
def undefined_but_numeric(n):
    for i in tf.range(n):
        last = i * 2
    return last


@tf.function
def defined_before(n):
    total = 0
    for i in tf.range(n):
        total += i
    return total


@tf.function
def local_to_body(n):
    total = 0
    for i in tf.range(n):
        square = i * i
        total += square
    return total


@tf.function
def none_before_read(n):
    previous = None
    total = 0
    for i in tf.range(n):
        total += i + previous
        previous = i
    return total


@tf.function
def none_object(n):
    box = None
    for i in tf.range(n):
        box = Box(i)
    return box is None


@tf.function
def none_and_test_in_body(n):
    best = None
    for i in tf.range(n):
        if best is None or i > best:
            best = i
    return best


@tf.function
def sentinel_before(n):
    best = tf.constant(-1)
    for i in tf.range(n):
        if i > best:
            best = i
    return best


@tf.function
def none_in_python_loop(x, names):
    best = None
    for _ in names:
        if best is None:
            best = x
        best = best + 1
    return best


@tf.function
def none_after(n):
    last = tf.constant(0)
    for i in tf.range(n):
        tf.print(i)
        last = None
    return last is None


@tf.function
def none_from_call(x):
    def log(v):
        tf.print(v)

    result = x
    while x > 0:
        x = x - 1
        result = log(x)
    return result is None


@tf.function
def none_local(n):
    total = 0
    for i in tf.range(n):
        found = None
        if found is None:
            found = i
        total += found
    return total


@tf.function
def unrolled_none(x, n):
    last = x
    for _ in range(n):
        last = None
    return last is None


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
    undefined_before_while(tf.constant(3))
    undefined_and_read_first(tf.constant(3))
    accumulates_undefined(tf.constant(3))
    undefined_but_numeric(tf.constant(3))
    defined_before(tf.constant(3))
    local_to_body(tf.constant(3))
    none_before_read(tf.constant(3))
    none_object(tf.constant(3))
    none_and_test_in_body(tf.constant(3))
    sentinel_before(tf.constant(3))
    none_in_python_loop(tf.constant(3), ["a", "b"])
    none_after(tf.constant(3))
    none_from_call(tf.constant(3))
    none_local(tf.constant(3))
    unrolled_none(tf.constant(3), 2)
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
    "undefined_before_while": [(tf.constant(3),)],
    "undefined_and_read_first": [(tf.constant(3),)],
    "accumulates_undefined": [(tf.constant(3),)],
    "undefined_but_numeric": [(tf.constant(3),)],
    "defined_before": [(tf.constant(3),)],
    "local_to_body": [(tf.constant(3),)],
    "none_before_read": [(tf.constant(3),)],
    "none_object": [(tf.constant(3),)],
    "none_and_test_in_body": [(tf.constant(3),)],
    "sentinel_before": [(tf.constant(3),)],
    "none_in_python_loop": [(tf.constant(3), ["a", "b"])],
    "none_after": [(tf.constant(3),)],
    "none_from_call": [(tf.constant(3),)],
    "none_local": [(tf.constant(3),)],
    "unrolled_none": [(tf.constant(3), 2)],
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
    "undefined_before_while": "AG201",
    "undefined_and_read_first": "AG201",
    "accumulates_undefined": "AG201",
    "undefined_but_numeric": None,
    "defined_before": None,
    "local_to_body": None,
    "none_before_read": "AG202",
    "none_object": "AG202",
    "none_and_test_in_body": "AG202",
    "sentinel_before": None,
    "none_in_python_loop": None,
    "none_after": "AG203",
    "none_from_call": "AG203",
    "none_local": None,
    "unrolled_none": None,
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
