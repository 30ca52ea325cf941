"""Arguments, results, variables and leaks of functions: a function for each kind of error."""
import numpy as np
import tensorflow as tf


@tf.function
def makes_variable(x):
    total = tf.Variable(0.0)
    return total.assign_add(x)


class Kept:
    def __init__(self):
        self.total = None

    @tf.function
    def add(self, x):
        if self.total is None:
            self.total = tf.Variable(0.0)
        return self.total.assign_add(x)


kept_total = Kept()


def keeps_variable(x):
    return kept_total.add(x)


@tf.function
def variable_per_width(x, width):
    weights = tf.Variable(tf.zeros([width]))
    return weights * x


@tf.function
def variable_without_value(x):
    return x + tf.Variable(None)


@tf.function
def returns_object(x):
    return object()


@tf.function
def returns_structure(x):
    return {"loss": x, "parts": [x, x]}


@tf.function
def returns_dataset_class(x):
    return x, tf.data.Dataset


@tf.function
def returns_function(x):
    return lambda y: x + y


@tf.function
def appends_to_argument(x, history):
    history.append(x)
    return x


@tf.function
def adds_to_argument(x, logs):
    logs["loss"] = x
    return x


@tf.function
def copies_argument(x, history):
    history = history + [x]
    return history


class Running:
    def __init__(self):
        self.total = 0.0

    @tf.function
    def update(self, x):
        self.total = self.total + x
        return self.total

    def run(self, rows):
        for row in rows:
            self.update(row)


@tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
def with_signature(x):
    return x * 2.0


def calls_with_two(x):
    return with_signature(x, x)


def calls_with_vector(x):
    return with_signature(tf.constant([1.0, 2.0]))


@tf.function(input_signature=tf.TensorSpec([None], tf.float32))
def signature_of_one(x):
    return x * 2.0


@tf.function(input_signature=[tf.float32])
def signature_of_dtype(x):
    return x * 2.0


@tf.function
def scaled(x, factor):
    return x * factor


def calls_concrete(x):
    concrete = scaled.get_concrete_function(tf.TensorSpec([2], tf.float32), tf.TensorSpec([], tf.float32))
    return concrete(x, tf.constant(2.0))


converted = tf.autograph.to_graph(scaled.python_function)


def converts_twice(x):
    return tf.autograph.to_graph(scaled)(x, x)


DIALECT = "tensorflow"

KINDS = {
    "makes_variable": "polymorphic_function: tf.function only supports singleton tf.Variables created on",
    "keeps_variable": None,
    "variable_per_width": "polymorphic_function: tf.function only supports singleton tf.Variables created on",
    "variable_without_value": "polymorphic_function: `initial_value` must be a Tensor or a Python object converti",
    "returns_object": "func_graph: To be compatible with tf.function, Python functions must ret",
    "returns_structure": None,
    "returns_dataset_class": "func_graph: To be compatible with tf.function, Python functions must ret",
    "returns_function": "func_graph: To be compatible with tf.function, Python functions must ret",
    "appends_to_argument": "func_graph: {func_name}{signature} should not modify its Python input ar",
    "adds_to_argument": "func_graph: {func_name}{signature} should not modify its Python input ar",
    "copies_argument": None,
    "Running": "func_graph: {tensor} is out of scope and cannot be used here. Use return",
    "calls_with_two": "function_type_utils: Binding inputs to tf.function failed due to `{e}`. Received",
    "calls_with_vector": None,
    "signature_of_one": "function_type_utils: input_signature must be either a tuple or a list, got {type(",
    "signature_of_dtype": "function_type_utils: input_signature must be a possibly nested sequence of Tensor",
    "calls_concrete": None,
    "converts_twice": "api: Cannot apply autograph to a function that doesn't expose a _",
}


def main():
    x = tf.constant([1.0, 2.0])
    makes_variable(tf.constant(1.0))
    keeps_variable(tf.constant(1.0))
    variable_per_width(tf.constant(1.0), 3)
    variable_without_value(x)
    returns_object(x)
    returns_structure(x)
    returns_dataset_class(x)
    returns_function(x)
    appends_to_argument(x, [])
    adds_to_argument(x, {})
    copies_argument(x, [])
    Running().run([x, x[:1]])
    calls_with_two(x)
    calls_with_vector(x)
    calls_concrete(x)
    converts_twice(x)


if __name__ == "__main__":
    main()
