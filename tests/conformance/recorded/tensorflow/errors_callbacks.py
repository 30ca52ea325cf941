"""Staged control flow that Keras 3, datasets and builtins call unconverted. The recorder runs each call in main() separately, because most raise."""

import keras
import tensorflow as tf


class Gate(keras.layers.Layer):
    def call(self, x):
        if tf.reduce_sum(x) > 0:
            return x * 2.0
        return x


class Halve(keras.layers.Layer):
    def __init__(self, enabled):
        super().__init__()
        self.enabled = enabled

    def call(self, x):
        if self.enabled:
            return x / 2.0
        return x


class StagedGate(keras.layers.Layer):
    @tf.function
    def call(self, x):
        if tf.reduce_sum(x) > 0:
            return x * 2.0
        return x


class Iterated(keras.Model):
    def call(self, x):
        for _ in tf.range(3):
            x = x * 0.5
        return x


gate = Gate()
halve = Halve(True)
staged_gate = StagedGate()
iterated = Iterated()


@tf.function
def keras_layer(x):
    return gate(x)


@tf.function
def keras_model(x):
    return iterated(x)


@tf.function
def keras_python_layer(x):
    y = halve(x)
    return y if tf.reduce_sum(y) > 0 else -y


@tf.function
def keras_staged_layer(x):
    return staged_gate(x)


def only_large(x):
    if x > 1:
        return True
    return False


@tf.function
def lambda_to_filter(n):
    total = tf.constant(0, tf.int64)
    for x in tf.data.Dataset.range(n).filter(lambda v: only_large(v)):
        total += x
    return total


@tf.function
def function_to_filter(n):
    total = tf.constant(0, tf.int64)
    for x in tf.data.Dataset.range(n).filter(only_large):
        total += x
    return total


def checked(x):
    if x > 0:
        return x
    return -x


@tf.function
def through_python_map(x):
    return list(map(checked, [x]))[0]


@tf.function
def through_python_sorted(xs):
    return sorted(xs, key=checked)[0]


@tf.function
def through_comprehension(xs):
    return [checked(x) for x in xs][0]


@tf.function
def through_sorted_numbers(x, limits):
    for limit in sorted(limits, key=checked):
        if x > limit:
            x = x - limit
    return x


def main():
    keras_layer(tf.constant([1.0]))
    keras_model(tf.constant([1.0]))
    keras_python_layer(tf.constant([1.0]))
    keras_staged_layer(tf.constant([1.0]))
    lambda_to_filter(4)
    function_to_filter(4)
    through_python_map(tf.constant(3))
    through_python_sorted([tf.constant(3), tf.constant(1)])
    through_comprehension([tf.constant(3), tf.constant(1)])
    through_sorted_numbers(tf.constant(3), [2, 1])


EXAMPLES = {
    "keras_layer": [(tf.constant([1.0]),)],
    "keras_model": [(tf.constant([1.0]),)],
    "keras_python_layer": [(tf.constant([1.0]),)],
    "keras_staged_layer": [(tf.constant([1.0]),)],
    "lambda_to_filter": [(4,)],
    "function_to_filter": [(4,)],
    "through_python_map": [(tf.constant(3),)],
    "through_python_sorted": [([tf.constant(3), tf.constant(1)],)],
    "through_comprehension": [([tf.constant(3), tf.constant(1)],)],
    "through_sorted_numbers": [(tf.constant(3), [2, 1])],
}


RULES = {
    "keras_layer": "AG014",
    "keras_model": "AG014",
    "keras_python_layer": None,
    "keras_staged_layer": None,
    "lambda_to_filter": "AG014",
    "function_to_filter": None,
    "through_python_map": "AG014",
    "through_python_sorted": "AG014",
    "through_comprehension": None,
    "through_sorted_numbers": None,
}


if __name__ == "__main__":
    main()
