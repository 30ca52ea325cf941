"""Assertions under the optional feature that converts them."""

import tensorflow as tf

FEATURE = "ASSERT_STATEMENTS"


@tf.function(experimental_autograph_options=tf.autograph.experimental.Feature.ASSERT_STATEMENTS)
def checked_root(x):
    assert x >= 0, "negative"
    assert x.shape.rank == 0
    return tf.sqrt(x)


@tf.function(experimental_autograph_options=tf.autograph.experimental.Feature.ASSERT_STATEMENTS)
def checked_loop(values, strict):
    total = tf.constant(0)
    for v in values:
        assert v > 0, "must be positive"
        if strict:
            assert isinstance(strict, bool) and v < 100
        total += v
    return total


@tf.function(experimental_autograph_options=tf.autograph.experimental.Feature.ASSERT_STATEMENTS)
def checked_pair(a, b):
    assert a is not None
    assert a > 0 and b > 0, "both must be positive"
    assert not a == b
    return a if a > b else b


@tf.function(experimental_autograph_options=tf.autograph.experimental.Feature.ASSERT_STATEMENTS)
def checked_mode(x, mode, limit=3):
    assert mode in ("up", "down"), "unknown mode"
    assert limit > 0
    return x + limit if mode == "up" else x - limit


def main():
    checked_root(tf.constant(4.0))
    checked_loop(tf.constant([1, 2]), True)
    checked_pair(tf.constant(1), tf.constant(2))
    checked_mode(tf.constant(1), "up")


EXAMPLES = {
    "checked_root": [(tf.constant(4.0),)],
    "checked_loop": [(tf.constant([1, 2]), True)],
    "checked_pair": [(tf.constant(1), tf.constant(2))],
    "checked_mode": [(tf.constant(1), "up")],
}


if __name__ == "__main__":
    main()
