"""Names that must be defined before a staged loop. The recorder runs each call in main() separately, because most raise."""

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


def main():
    undefined_before_while(tf.constant(3))
    undefined_and_read_first(tf.constant(3))
    accumulates_undefined(tf.constant(3))
    undefined_but_numeric(tf.constant(3))
    defined_before(tf.constant(3))
    local_to_body(tf.constant(3))
    none_before_read(tf.constant(3))
    none_object(tf.constant(3))
    sentinel_before(tf.constant(3))
    none_in_python_loop(tf.constant(3), ["a", "b"])
    none_after(tf.constant(3))
    none_from_call(tf.constant(3))
    none_local(tf.constant(3))
    unrolled_none(tf.constant(3), 2)


EXAMPLES = {
    "undefined_before_while": [(tf.constant(3),)],
    "undefined_and_read_first": [(tf.constant(3),)],
    "accumulates_undefined": [(tf.constant(3),)],
    "undefined_but_numeric": [(tf.constant(3),)],
    "defined_before": [(tf.constant(3),)],
    "local_to_body": [(tf.constant(3),)],
    "none_before_read": [(tf.constant(3),)],
    "none_object": [(tf.constant(3),)],
    "sentinel_before": [(tf.constant(3),)],
    "none_in_python_loop": [(tf.constant(3), ["a", "b"])],
    "none_after": [(tf.constant(3),)],
    "none_from_call": [(tf.constant(3),)],
    "none_local": [(tf.constant(3),)],
    "unrolled_none": [(tf.constant(3), 2)],
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
    "sentinel_before": None,
    "none_in_python_loop": None,
    "none_after": "AG203",
    "none_from_call": "AG203",
    "none_local": None,
    "unrolled_none": None,
}


if __name__ == "__main__":
    main()
