"""Tensors where Python requires a bool or an iterable. The recorder runs each call in main() separately, because most raise."""

import tensorflow as tf


@tf.function
def comprehension_condition(xs):
    return tf.stack([x for x in xs if x > 0])


@tf.function
def comprehension_iterable(xs):
    return [x * 2 for x in xs]


@tf.function
def any_of_list(xs):
    return 1 if any([x > 0 for x in xs]) else 0


@tf.function
def all_of_tensor(x):
    if all(x > 0):
        x = -x
    return x


@tf.function
def max_of_two(x):
    return max(x, 3)


@tf.function
def min_of_tensor(x):
    return min(x)


@tf.function
def sum_of_tensor(x):
    return sum(x)


@tf.function
def enumerated_tensor(x):
    total = tf.constant(0)
    for index, v in enumerate(x):
        total += index * v
    return total


@tf.function
def zipped_tensors(x, y):
    total = tf.constant(0)
    for a, b in zip(x, y):
        total += a * b
    return total


@tf.function
def mapped_tensor(x):
    return list(map(tf.abs, x))


@tf.function
def filtered_list(xs):
    return list(filter(lambda x: x > 0, xs))


@tf.function
def sorted_list(x, y):
    return sorted([x, y])


@tf.function
def membership(x):
    if x in [1, 2]:
        return x
    return -x


@tf.function
def python_bool(x):
    positive = bool(x > 0)
    return 1 if positive else 0


@tf.function
def asserted(x):
    assert x > 0, "positive"
    return x


@tf.function
def tested_text(x):
    label = f"{1 if x > 0 else 2}"
    return x if label == "1" else -x


@tf.function
def unpacked(x):
    first, *rest = x
    return first + len(rest)


@tf.function
def unpacked_pair(x):
    a, b = x
    return a + b


@tf.function
def reduced_any(x):
    return 1 if tf.reduce_any(x > 0) else 0


@tf.function
def unstacked(x):
    return [v * 2 for v in tf.unstack(x)]


@tf.function
def maximum(x):
    return tf.maximum(x, 3)


@tf.function
def for_over_tensor(x):
    total = tf.constant(0)
    for v in x:
        total += v
    return total


@tf.function
def converted_builtins(x, y):
    n = len(x) + int(y) + abs(y)
    for i in range(y):
        n += i
    return n


def main():
    comprehension_condition([tf.constant(1), tf.constant(-1)])
    comprehension_iterable(tf.constant([1, -1]))
    any_of_list([tf.constant(1), tf.constant(-1)])
    all_of_tensor(tf.constant([1, -1]))
    max_of_two(tf.constant(1))
    min_of_tensor(tf.constant([1, -1]))
    sum_of_tensor(tf.constant([1, -1]))
    enumerated_tensor(tf.constant([1, -1]))
    zipped_tensors(tf.constant([1, -1]), tf.constant([1, -1]))
    mapped_tensor(tf.constant([1, -1]))
    filtered_list([tf.constant(1), tf.constant(-1)])
    sorted_list(tf.constant(1), tf.constant(-1))
    membership(tf.constant(1))
    python_bool(tf.constant(1))
    asserted(tf.constant(1))
    tested_text(tf.constant(1))
    unpacked(tf.constant([1, -1]))
    unpacked_pair(tf.constant([1, -1]))
    reduced_any(tf.constant([1, -1]))
    unstacked(tf.constant([1, -1]))
    maximum(tf.constant(1))
    for_over_tensor(tf.constant([1, -1]))
    converted_builtins(tf.constant([1, -1]), tf.constant(2))


EXAMPLES = {
    "comprehension_condition": [([tf.constant(1), tf.constant(-1)],)],
    "comprehension_iterable": [(tf.constant([1, -1]),)],
    "any_of_list": [([tf.constant(1), tf.constant(-1)],)],
    "all_of_tensor": [(tf.constant([1, -1]),)],
    "max_of_two": [(tf.constant(1),)],
    "min_of_tensor": [(tf.constant([1, -1]),)],
    "sum_of_tensor": [(tf.constant([1, -1]),)],
    "enumerated_tensor": [(tf.constant([1, -1]),)],
    "zipped_tensors": [(tf.constant([1, -1]), tf.constant([1, -1]))],
    "mapped_tensor": [(tf.constant([1, -1]),)],
    "filtered_list": [([tf.constant(1), tf.constant(-1)],)],
    "sorted_list": [(tf.constant(1), tf.constant(-1))],
    "membership": [(tf.constant(1),)],
    "python_bool": [(tf.constant(1),)],
    "asserted": [(tf.constant(1),)],
    "tested_text": [(tf.constant(1),)],
    "unpacked": [(tf.constant([1, -1]),)],
    "unpacked_pair": [(tf.constant([1, -1]),)],
    "reduced_any": [(tf.constant([1, -1]),)],
    "unstacked": [(tf.constant([1, -1]),)],
    "maximum": [(tf.constant(1),)],
    "for_over_tensor": [(tf.constant([1, -1]),)],
    "converted_builtins": [(tf.constant([1, -1]), tf.constant(2))],
}


RULES = {
    "comprehension_condition": "AG306",
    "comprehension_iterable": "AG306",
    "any_of_list": "AG306",
    "all_of_tensor": "AG306",
    "max_of_two": "AG306",
    "min_of_tensor": "AG306",
    "sum_of_tensor": "AG306",
    "enumerated_tensor": "AG306",
    "zipped_tensors": "AG306",
    "mapped_tensor": "AG306",
    "filtered_list": "AG306",
    "sorted_list": "AG306",
    "membership": "AG306",
    "python_bool": "AG306",
    "asserted": "AG306",
    "tested_text": "AG306",
    "unpacked": "AG306",
    "unpacked_pair": "AG306",
    "reduced_any": None,
    "unstacked": None,
    "maximum": None,
    "for_over_tensor": None,
    "converted_builtins": None,
}


if __name__ == "__main__":
    main()
