"""Defaults, keyword flags, *args, **kwargs and positional choices."""

import tensorflow as tf


@tf.function
def dropout(x, rate=0.0, training=False, noise_shape=None):
    if not training or rate == 0.0:
        return x
    shape = tf.shape(x) if noise_shape is None else noise_shape
    keep = tf.random.stateless_uniform(shape, seed=[1, 2]) >= rate
    if tf.reduce_any(keep):
        x = tf.where(keep, x / (1.0 - rate), 0.0)
    return x


@tf.function
def keyword_only(x, *, scale=1.0, clip=None):
    if clip is not None and x > clip:
        x = tf.constant(clip)
    if scale != 1.0:
        x = x * scale
    return x


@tf.function
def sum_all(*values):
    total = values[0]
    for v in values[1:]:
        if v > 0:
            total += v
    if len(values) > 2:
        total = total / float(len(values))
    return total


@tf.function
def named(x, **options):
    if options.get("double"):
        x = x * 2
    if "limit" in options:
        if x > options["limit"]:
            x = x - options["limit"]
    return x


def normalise(x, axis=None, epsilon=1e-6, centre=True):
    if centre:
        x = x - tf.reduce_mean(x, axis, keepdims=True)
    if axis is None:
        norm = tf.norm(x)
    else:
        norm = tf.norm(x, axis=axis, keepdims=True)
    return x / tf.maximum(norm, epsilon)


@tf.function
def forwards_keywords(x, **kwargs):
    y = normalise(x, **kwargs)
    if tf.reduce_max(y) > 0.9:
        y = y * 0.5
    return y


@tf.function
def forwards_all(x):
    args = (x, 0)
    kwargs = {"centre": False}
    y = normalise(*args, **kwargs)
    z = normalise(x, epsilon=0.1)
    return y if tf.reduce_sum(y) > tf.reduce_sum(z) else z


@tf.function
def optional_tensor(x, mask=None):
    if mask is None:
        return tf.reduce_sum(x)
    if tf.reduce_all(mask == 0.0):
        return tf.constant(0.0)
    return tf.reduce_sum(x * mask)


@tf.function
def scalar_or_tensor(x, rate):
    # Called with a number and with a Tensor.
    if rate > 0.5:
        x = x * 2.0
    return x


@tf.function
def rate_in_range(x, rate=0.5, floor=None):
    if not 0.0 <= rate < 1.0:
        raise ValueError("rate must be in [0, 1)")
    usable = floor is not None and 0.0 < floor < rate
    if usable and floor < x < rate:
        x = x / (1.0 - rate)
    return x


@tf.function
def loop_count(x, steps):
    for _ in range(steps):
        x = x + 1
    return x


@tf.function(input_signature=[tf.TensorSpec([None], tf.float32), tf.TensorSpec([], tf.bool)])
def with_signature(x, reverse):
    if reverse:
        x = x[::-1]
    if tf.size(x) == 0:
        x = tf.zeros([1])
    return x


@tf.function
def annotated(x: tf.Tensor, steps: int, training: bool = False, name: str = "block") -> tf.Tensor:
    for k in range(steps):
        if training and k == 0:
            x = x * 0.5
    if name == "block" and x > 0.0:
        x = -x
    return x


@tf.function(reduce_retracing=True)
def relaxed(x, flip):
    if flip:
        x = -x
    n = tf.size(x)
    while n > 1:
        n = n // 2
    return n


@tf.function(autograph=False)
def graph_only(x, negate):
    # Not converted, so the `if` requires a Python value.
    if negate:
        return -x
    return tf.cond(x > 0, lambda: x, lambda: -x)


@tf.autograph.experimental.do_not_convert
def opaque(x, mode):
    if mode == "square":
        return x * x
    return tf.where(x > 0, x, 0)


@tf.function
def calls_opaque(x):
    y = opaque(x, "square")
    if y > 3:
        y = opaque(y, "clip")
    return y


def positional(x, y, /, power=2, *rest, bias=0):
    x = x**power
    if rest:
        x = x + rest[0]
    if bias or x > y:
        x = x - bias
    return x


@tf.function
def all_parameter_kinds(x):
    a = positional(x, 1)
    b = positional(x, 1, 3, 7, bias=1)
    c = positional(x, x, bias=2, power=1)
    return a + b + c


def flags(training, mode="train", **extra):
    steps = 1
    if training and mode == "train":
        steps = extra.pop("steps", 3)
    if extra:
        steps += len(extra)
    return steps


@tf.function
def flags_decide(x):
    for _ in range(flags(True, steps=2)):
        if x > 1:
            x = x // 2
    for _ in range(flags(False, verbose=True)):
        x = x + 1
    return x


def main():
    dropout(tf.constant([1.0, 2.0]))
    dropout(tf.constant([1.0, 2.0]), 0.5, True)
    keyword_only(x=tf.constant(3.0), scale=0.5, clip=2.0)
    keyword_only(x=tf.constant(3.0))
    sum_all(tf.constant(3.0), tf.constant(1.0), tf.constant(-1.0))
    named(x=tf.constant(3), double=True, limit=4)
    forwards_keywords(x=tf.constant([1.0, 2.0]), axis=0)
    forwards_all(tf.constant([1.0, 2.0]))
    optional_tensor(tf.constant([1.0, 2.0]))
    optional_tensor(tf.constant([1.0, 2.0]), tf.constant([0.0, 1.0]))
    scalar_or_tensor(tf.constant(1.0), 0.7)
    scalar_or_tensor(tf.constant(1.0), tf.constant(0.7))
    rate_in_range(tf.constant(0.3))
    rate_in_range(tf.constant(0.3), 0.4, 0.2)
    loop_count(tf.constant(1), 3)
    loop_count(tf.constant(1), tf.constant(3))
    with_signature(tf.constant([1.0, 2.0]), tf.constant(True))
    annotated(tf.constant(1.0), 2, True)
    relaxed(tf.constant([1.0, 2.0]), True)
    graph_only(tf.constant(1.0), False)
    calls_opaque(tf.constant(2))
    all_parameter_kinds(tf.constant(2))
    flags_decide(tf.constant(9))


EXAMPLES = {
    "dropout": [(tf.constant([1.0, 2.0]),), (tf.constant([1.0, 2.0]), 0.5, True)],
    "keyword_only": [{"x": tf.constant(3.0), "scale": 0.5, "clip": 2.0}, {"x": tf.constant(3.0)}],
    "sum_all": [(tf.constant(3.0), tf.constant(1.0), tf.constant(-1.0))],
    "named": [{"x": tf.constant(3), "double": True, "limit": 4}],
    "forwards_keywords": [{"x": tf.constant([1.0, 2.0]), "axis": 0}],
    "forwards_all": [(tf.constant([1.0, 2.0]),)],
    "optional_tensor": [(tf.constant([1.0, 2.0]),), (tf.constant([1.0, 2.0]), tf.constant([0.0, 1.0]))],
    "scalar_or_tensor": [(tf.constant(1.0), 0.7), (tf.constant(1.0), tf.constant(0.7))],
    "rate_in_range": [(tf.constant(0.3),), (tf.constant(0.3), 0.4, 0.2)],
    "loop_count": [(tf.constant(1), 3), (tf.constant(1), tf.constant(3))],
    "with_signature": [(tf.constant([1.0, 2.0]), tf.constant(True))],
    "annotated": [(tf.constant(1.0), 2, True)],
    "relaxed": [(tf.constant([1.0, 2.0]), True)],
    "graph_only": [(tf.constant(1.0), False)],
    "calls_opaque": [(tf.constant(2),)],
    "all_parameter_kinds": [(tf.constant(2),)],
    "flags_decide": [(tf.constant(9),)],
}


if __name__ == "__main__":
    main()
