"""Decorators that declare the test inputs of the functions in this folder."""

import tensorflow as tf

T = tf.constant


class Case:
    """A function with one list of arguments."""

    def __init__(self, function, arguments):
        self.function = function
        self.arguments = arguments

    def fresh_arguments(self):
        """Returns new containers and objects for each run, because functions may modify them."""
        return [
            argument.make() if isinstance(argument, Fresh) else tf.nest.map_structure(lambda leaf: leaf, argument)
            for argument in self.arguments
        ]


class Fresh:
    """An argument that is created for each run."""

    def __init__(self, make):
        self.make = make


CASES = []
DEVIATIONS = {}
KEPT = {}
FEATURES = {}


def case(*arguments):
    """`@case(T(1), 2)`: runs the function below with these arguments. A function may have several cases."""

    def register(function):
        CASES.append(Case(function, arguments))
        return function

    return register


def deviates(reason):
    """`@deviates("why")`: TensorFlow's conversion behaves differently from plain Python, and ag-lsp's must not."""

    def register(function):
        DEVIATIONS[function] = reason
        return function

    return register


def kept(reason):
    """`@kept("why")`: ag-lsp does not convert this function and reports this reason. The result is plain Python's."""

    def register(function):
        KEPT[function] = reason
        return function

    return register


def features(*names):
    """`@features("LISTS")`: converts the function with these optional features."""

    def register(function):
        FEATURES[function] = tuple(tf.autograph.experimental.Feature[name] for name in names)
        return function

    return register
