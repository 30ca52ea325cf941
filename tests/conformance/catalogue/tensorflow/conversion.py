"""Python that AutoGraph does not convert: a function for each kind of error.

The programs are recorded with `AUTOGRAPH_STRICT_CONVERSION=1`: TensorFlow raises instead of logging a warning.
"""
import tensorflow as tf


@tf.function
def loops_with_else(x):
    for i in range(3):
        x = x + 1.0
    else:
        x = x * 2.0
    return x


@tf.function
def waits_with_else(x):
    count = 0
    while count < 3:
        count += 1
    else:
        x = x * 2.0
    return x


def halves(x):
    yield x / 2.0
    yield x / 4.0


@tf.function
def sums_halves(x):
    return tf.add_n([half for half in halves(x)])


class Scaled:
    def __init__(self):
        self.__scale = 2.0

    @tf.function
    def call(self, x):
        return x * self.__scale


def two_lambdas(x):
    plus, minus = tf.function(lambda x: x + 1.0), tf.function(lambda x: x - 1.0)
    return plus(x) + minus(x)


@tf.function
def options_after_statement(x):
    for _ in tf.range(3):
        x = x * 2.0
        tf.autograph.experimental.set_loop_options(maximum_iterations=2)
    return x


@tf.function
def options_outside(x):
    tf.autograph.experimental.set_loop_options(maximum_iterations=2)
    return x


@tf.function
def options_first(x):
    for _ in tf.range(3):
        tf.autograph.experimental.set_loop_options(maximum_iterations=2)
        x = x * 2.0
    return x


DIALECT = "tensorflow"

KINDS = {
    "loops_with_else": "unsupported_features_checker: for/else statement not yet supported",
    "waits_with_else": "unsupported_features_checker: while/else statement not yet supported",
    "sums_halves": None,
    "Scaled": "unsupported_features_checker: mangled names are not yet supported",
    "two_lambdas": "parser: could not parse the source code of {lam}: found multiple def",
    "options_after_statement": "directives: \"{}\" must be the first statement in the loop block",
    "options_outside": "directives: \"{}\" must be used inside a statement",
    "options_first": None,
}


def main():
    x = tf.constant(1.0)
    loops_with_else(x)
    waits_with_else(x)
    sums_halves(x)
    Scaled().call(x)
    two_lambdas(x)
    options_after_statement(x)
    options_outside(x)
    options_first(x)


if __name__ == "__main__":
    main()
