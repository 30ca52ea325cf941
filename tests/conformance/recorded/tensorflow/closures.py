"""Closures, lambdas, partials and nested functions."""

import functools

import tensorflow as tf


def make_clip(limit):
    def clip(x):
        if limit is None:
            return x
        if x > limit:
            return tf.constant(limit)
        return x

    return clip


@tf.function
def nested_function(x, twice):
    def half(v):
        if v % 2 == 0:
            v = v // 2
        return v

    x = half(x)
    if twice:
        x = half(x)
    return x


@tf.function
def closure_over_tensor(x, y):
    def larger():
        return x if x > y else y

    best = larger()
    if best > 10:
        best = tf.constant(10)
    return best


@tf.function
def closure_over_flag(x, flag):
    def maybe(v):
        if flag:
            return v + 1
        if v > 0:
            return v - 1
        return v

    return maybe(x)


@tf.function
def counting_function(values, floor):
    def visit(v, count):
        if v > floor:
            count += 1
        return count

    count = 0
    for v in values:
        count = visit(v, count)
    return count


@tf.function
def lambda_argument(x):
    choose = lambda a, b: a if a > b else b
    shift = lambda a, k=2: a + k if k > 1 else a
    return choose(x, 3) + shift(x)


def twice(f, x):
    y = f(x)
    if y > 100:
        return y
    return f(y)


def triple(x):
    if x < 50:
        return 3 * x
    return x


@tf.function
def higher_order(x):
    return twice(triple, x) + twice(lambda v: v + 1, x)


def scaled(factor, offset, x):
    if offset:
        x = x + offset
    if x * factor > 1.0:
        x = tf.constant(1.0)
    return x


@tf.function
def partials(x):
    small = functools.partial(scaled, 0.1, None)
    shifted = functools.partial(scaled, 2.0, 0.5)
    return small(x) + shifted(x)


ACTIVATIONS = {
    "relu": lambda x: x if x > 0 else 0.0 * x,
    "double": lambda x: 2.0 * x,
}


@tf.function
def by_name(x, name):
    if name not in ACTIVATIONS:
        return x
    y = ACTIVATIONS[name](x)
    return y if y < 5.0 else tf.constant(5.0)


@tf.function
def cond_callbacks(x, training):
    def grow():
        return x * 2 if training else x

    def shrink():
        if x < -10:
            return tf.constant(-10)
        else:
            return x

    return tf.cond(x > 0, grow, shrink)


@tf.function
def while_callbacks(n):
    def condition(i, total):
        return i < n and total < 100

    def body(i, total):
        if i % 2 == 0:
            total += i
        return i + 1, total

    return tf.while_loop(condition, body, (0, 0))


@tf.function
def map_fn_callback(xs, floor):
    def element(v):
        if floor is not None and v < floor:
            v = tf.constant(floor)
        return v

    return tf.map_fn(element, xs)


@tf.function
def vectorised(xs):
    return tf.vectorized_map(lambda v: v * 2.0, xs)


@tf.function
def fold(xs, keep_first):
    def combine(accumulated, v):
        if v > accumulated:
            accumulated = v
        return accumulated

    start = xs[0] if keep_first else tf.constant(0.0)
    return tf.foldl(combine, xs, initializer=start)


@tf.function
def redefined(x, kind):
    if kind == "square":

        def apply(v):
            return v * v

    else:

        def apply(v):
            return -v if v > 0 else v

    return apply(x)


def compose(*functions):
    def composed(x):
        for f in functions:
            x = f(x)
        return x

    return composed


@tf.function
def composed_call(x):
    pipeline = compose(make_clip(8), make_clip(None), triple)
    return pipeline(x)


@tf.function
def default_captures(x, depth):
    layers = []
    for k in range(depth):
        if k % 2:
            layers.append(lambda v, k=k: v * k if v > k else v)
        else:
            layers.append(lambda v, k=k: v + k)
    for layer in layers:
        x = layer(x)
    return x


def main():
    nested_function(tf.constant(8), True)
    closure_over_tensor(tf.constant(8), tf.constant(20))
    closure_over_flag(tf.constant(8), False)
    closure_over_flag(tf.constant(8), True)
    counting_function(tf.constant([1, -1, 2]), 0)
    lambda_argument(tf.constant(1))
    higher_order(tf.constant(4))
    partials(tf.constant(4.0))
    by_name(tf.constant(4.0), "relu")
    by_name(tf.constant(4.0), "double")
    cond_callbacks(tf.constant(4), True)
    while_callbacks(tf.constant(4))
    map_fn_callback(tf.constant([1.0, 2.0]), 1.5)
    vectorised(tf.constant([1.0, 2.0]))
    fold(tf.constant([1.0, 2.0]), True)
    redefined(tf.constant(3), "square")
    redefined(tf.constant(3), "other")
    composed_call(tf.constant(3))
    default_captures(tf.constant(3), 3)
    tf.function(make_clip(2))(tf.constant(3))


EXAMPLES = {
    "nested_function": [(tf.constant(8), True)],
    "closure_over_tensor": [(tf.constant(8), tf.constant(20))],
    "closure_over_flag": [(tf.constant(8), False), (tf.constant(8), True)],
    "counting_function": [(tf.constant([1, -1, 2]), 0)],
    "lambda_argument": [(tf.constant(1),)],
    "higher_order": [(tf.constant(4),)],
    "partials": [(tf.constant(4.0),)],
    "by_name": [(tf.constant(4.0), "relu"), (tf.constant(4.0), "double")],
    "cond_callbacks": [(tf.constant(4), True)],
    "while_callbacks": [(tf.constant(4),)],
    "map_fn_callback": [(tf.constant([1.0, 2.0]), 1.5)],
    "vectorised": [(tf.constant([1.0, 2.0]),)],
    "fold": [(tf.constant([1.0, 2.0]), True)],
    "redefined": [(tf.constant(3), "square"), (tf.constant(3), "other")],
    "composed_call": [(tf.constant(3),)],
    "default_captures": [(tf.constant(3), 3)],
    "make_clip(2)": [(tf.constant(3),)],
}


if __name__ == "__main__":
    main()
