"""Comprehensions: Python runs them, but their elements may contain staged code."""

import tensorflow as tf


@tf.function
def filtered_names(x, names):
    chosen = [name for name in names if not name.startswith("_")]
    for name in chosen:
        if len(name) > 2 and x > 0:
            x = x - 1.0
    return x


@tf.function
def elements_stage(xs):
    rectified = [x if x > 0 else 0.0 * x for x in xs]
    return tf.add_n(rectified)


@tf.function
def skip_missing(gradients):
    present = [g for g in gradients if g is not None]
    if not present:
        return tf.constant(0.0)
    norm = tf.add_n([tf.reduce_sum(g * g) for g in present])
    if norm > 1.0:
        norm = tf.sqrt(norm)
    return norm


@tf.function
def nested_comprehension(xs, sizes):
    grid = [x * size for x in xs for size in sizes if size % 2 == 0]
    return tf.stack(grid)


@tf.function
def dictionary_comprehension(inputs, drop):
    kept = {name: value for name, value in inputs.items() if name not in drop}
    total = tf.constant(0.0)
    for name in sorted(kept):
        if kept[name] > 0:
            total += kept[name]
    return total


def clamp(x):
    if x > 1.0:
        return tf.constant(1.0)
    return x


@tf.function
def calls_in_comprehension(xs, limit):
    clamped = [clamp(x) for index, x in enumerate(xs) if index < limit]
    return tf.add_n(clamped)


@tf.function
def generator_argument(xs):
    widths = tuple(x.shape[0] for x in xs if x.shape.rank == 1)
    if sum(widths) > 3 and max(widths) < 10:
        return tf.concat(xs, 0)
    return xs[0]


@tf.function
def any_all_python(x, flags):
    if any(flags):
        x = x + 1
    if all(flag is not None for flag in flags):
        x = x * 2
    return x if x > 3 else -x


@tf.function
def set_comprehension(xs):
    kinds = {x.dtype for x in xs if x.dtype.is_floating}
    return tf.constant(len(kinds)) if len(kinds) > 1 else tf.constant(0)


@tf.function
def shape_comprehension(x, keep):
    sizes = [size if size is not None else -1 for size in x.shape.as_list()]
    tail = [size for position, size in enumerate(sizes) if position >= keep]
    x = tf.reshape(x, [-1] + tail)
    if tf.reduce_sum(x) > 0:
        x = -x
    return x


@tf.function
def boolean_operators(xs, threshold):
    counts = [tf.cast(x > 0 and x < threshold, tf.int32) for x in xs]
    total = tf.add_n(counts)
    if threshold is not None and total > 1:
        total = tf.constant(1)
    return total


@tf.function
def lambda_in_comprehension(x, powers):
    steps = [lambda v, p=p: v**p if p > 1 else v for p in powers]
    for step in steps:
        x = step(x)
    return x


@tf.function
def pair_sums(xs):
    n = len(xs)
    sums = [xs[i] + xs[j] for i in range(n) for j in range(n) if i < j]
    best = sums[0]
    for s in sums[1:]:
        best = s if s > best else best
    return best


def main():
    filtered_names(tf.constant(3.0), ["_hidden", "ab", "abc"])
    elements_stage([tf.constant(1.0), tf.constant(-1.0)])
    skip_missing([tf.constant(1.0), None, tf.constant([2.0, 1.0])])
    nested_comprehension([tf.constant(1), tf.constant(2)], [1, 2, 4])
    dictionary_comprehension({"a": tf.constant(1.0), "b": tf.constant(2.0)}, ["b"])
    calls_in_comprehension([tf.constant(3.0), tf.constant(0.5)], 2)
    generator_argument([tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])])
    any_all_python(tf.constant(1), [True, None])
    set_comprehension([tf.constant(1.0), tf.constant(1)])
    shape_comprehension(tf.constant([[1.0, 2.0], [3.0, 4.0]]), 1)
    boolean_operators([tf.constant(1.0), tf.constant(-1.0)], 2.0)
    lambda_in_comprehension(tf.constant(2.0), [1, 2])
    pair_sums([tf.constant(1), tf.constant(2), tf.constant(3)])


EXAMPLES = {
    "filtered_names": [(tf.constant(3.0), ["_hidden", "ab", "abc"])],
    "elements_stage": [([tf.constant(1.0), tf.constant(-1.0)],)],
    "skip_missing": [([tf.constant(1.0), None, tf.constant([2.0, 1.0])],)],
    "nested_comprehension": [([tf.constant(1), tf.constant(2)], [1, 2, 4])],
    "dictionary_comprehension": [({"a": tf.constant(1.0), "b": tf.constant(2.0)}, ["b"])],
    "calls_in_comprehension": [([tf.constant(3.0), tf.constant(0.5)], 2)],
    "generator_argument": [([tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])],)],
    "any_all_python": [(tf.constant(1), [True, None])],
    "set_comprehension": [([tf.constant(1.0), tf.constant(1)],)],
    "shape_comprehension": [(tf.constant([[1.0, 2.0], [3.0, 4.0]]), 1)],
    "boolean_operators": [([tf.constant(1.0), tf.constant(-1.0)], 2.0)],
    "lambda_in_comprehension": [(tf.constant(2.0), [1, 2])],
    "pair_sums": [([tf.constant(1), tf.constant(2), tf.constant(3)],)],
}


if __name__ == "__main__":
    main()
