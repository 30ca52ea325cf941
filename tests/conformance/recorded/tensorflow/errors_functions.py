"""Variables, leaks and recursion in tf.function. The recorder runs each call in main() separately, because most raise."""

import keras
import tensorflow as tf


class Leaky:
    def __init__(self):
        self.last = None
        self.history = []

    def step(self, x):
        if self.last is not None:
            x = x + tf.reduce_sum(self.last)
        self.last = x
        return x

    def collect(self, x):
        self.history.append(tf.reduce_sum(x))
        return tf.add_n(self.history)


class Stateful:
    def __init__(self):
        self.last = tf.Variable(0.0)
        self.shapes = []

    def step(self, x):
        x = x + self.last
        self.last.assign(tf.reduce_sum(x))
        return x

    def collect(self, x):
        self.shapes.append(x.shape[0])
        return x if len(self.shapes) > 0 and tf.reduce_sum(x) > 0 else -x


@tf.function
def new_variable(x):
    v = tf.Variable(x)
    return v + 1.0


@tf.function
def variable_in_branch(x):
    if x > 0:
        v = tf.Variable(1.0)
        x = x + v
    return x


class Unguarded:
    def __call__(self, x):
        self.v = tf.Variable(2.0)
        return x * self.v


class Guarded:
    def __init__(self):
        self.v = None

    def __call__(self, x):
        if self.v is None:
            self.v = tf.Variable(2.0)
        return x * self.v if x > 0 else x


scale = tf.Variable(2.0)


@tf.function
def outer_variable(x):
    if scale > 1.0:
        scale.assign(x)
    return scale.read_value()


@tf.function
def factorial(n):
    if n <= 1:
        return 1
    return n * factorial_of(n - 1)


def factorial_of(n):
    if n <= 1:
        return 1
    else:
        return n * factorial_of(n - 1)


def halvings(x):
    return halvings(x / 2.0) + 1 if x > 1.0 else 0


@tf.function
def count_halvings(x):
    return halvings(x)


def power(x, n):
    if n == 0:
        return tf.ones_like(x)
    half = power(x, n // 2)
    return half * half * (x if n % 2 else tf.ones_like(x))


@tf.function
def power_of(x, n):
    y = power(x, n)
    return y if y > 0 else -y


def tree_sum(tree):
    if isinstance(tree, tuple):
        return tree_sum(tree[0]) + tree_sum(tree[1])
    return tree


@tf.function
def sum_of_tree(tree):
    return tree_sum(tree)


weights = tf.Variable([1.0, 2.0])


shared = keras.optimizers.SGD(0.1)
shared.build([weights])


@tf.function
def train_shared(gradient):
    if tf.norm(gradient) > 0.5:
        shared.apply_gradients([(gradient, weights)])
    return weights.read_value()


dense = keras.layers.Dense(2)
dense.build([None, 2])


@tf.function
def run_built(x):
    y = dense(x)
    return y if tf.reduce_sum(y) > 0 else x


def main():
    tf.function(Leaky().step)(tf.constant([1.0]))
    tf.function(Leaky().step)(tf.constant([1.0, 2.0]))
    tf.function(Leaky().collect)(tf.constant([1.0]))
    tf.function(Leaky().collect)(tf.constant([1.0, 2.0]))
    tf.function(Stateful().step)(tf.constant([1.0]))
    tf.function(Stateful().step)(tf.constant([1.0, 2.0]))
    tf.function(Stateful().collect)(tf.constant([1.0]))
    tf.function(Stateful().collect)(tf.constant([1.0, 2.0]))
    new_variable(tf.constant(1.0))
    variable_in_branch(tf.constant(1.0))
    tf.function(Unguarded().__call__)(tf.constant(1.0))
    tf.function(Guarded().__call__)(tf.constant(1.0))
    outer_variable(tf.constant(1.0))
    factorial(tf.constant(4))
    count_halvings(tf.constant(9.0))
    power_of(tf.constant(2.0), 5)
    sum_of_tree((tf.constant(2.0), (tf.constant(3.0), tf.constant(4.0))))
    train_shared(tf.constant([0.0, 0.0]))
    run_built(tf.constant([[1.0, 2.0]]))


EXAMPLES = {
    "Leaky().step": [(tf.constant([1.0]),), (tf.constant([1.0, 2.0]),)],
    "Leaky().collect": [(tf.constant([1.0]),), (tf.constant([1.0, 2.0]),)],
    "Stateful().step": [(tf.constant([1.0]),), (tf.constant([1.0, 2.0]),)],
    "Stateful().collect": [(tf.constant([1.0]),), (tf.constant([1.0, 2.0]),)],
    "new_variable": [(tf.constant(1.0),)],
    "variable_in_branch": [(tf.constant(1.0),)],
    "Unguarded().__call__": [(tf.constant(1.0),)],
    "Guarded().__call__": [(tf.constant(1.0),)],
    "outer_variable": [(tf.constant(1.0),)],
    "factorial": [(tf.constant(4),)],
    "count_halvings": [(tf.constant(9.0),)],
    "power_of": [(tf.constant(2.0), 5)],
    "sum_of_tree": [((tf.constant(2.0), (tf.constant(3.0), tf.constant(4.0))),)],
    "train_shared": [(tf.constant([0.0, 0.0]),)],
    "run_built": [(tf.constant([[1.0, 2.0]]),)],
}


RULES = {
    "Leaky().step": "AG404",
    "Leaky().collect": "AG404",
    "Stateful().step": None,
    "Stateful().collect": None,
    "new_variable": "AG406",
    "variable_in_branch": "AG406",
    "Unguarded().__call__": "AG406",
    "Guarded().__call__": None,
    "outer_variable": None,
    "factorial": "AG408",
    "count_halvings": "AG408",
    "power_of": None,
    "sum_of_tree": None,
    "train_shared": None,
    "run_built": None,
}


if __name__ == "__main__":
    main()
