"""How the functions in this folder say what they are run with."""

import tensorflow as tf

T = tf.constant


class Case:
    """One function, and one list of arguments for it."""

    def __init__(self, function, arguments):
        self.function = function
        self.arguments = arguments

    def fresh_arguments(self):
        """New containers and objects for each run, since functions may change them."""
        return [
            argument.make() if isinstance(argument, Fresh) else tf.nest.map_structure(lambda leaf: leaf, argument)
            for argument in self.arguments
        ]


class Fresh:
    """An argument that is made anew for each run."""

    def __init__(self, make):
        self.make = make


CASES = []
DEVIATIONS = {}
KEPT = {}
FEATURES = {}


def case(*arguments):
    """`@case(T(1), 2)`: run the function below with these arguments. May be repeated."""

    def register(function):
        CASES.append(Case(function, arguments))
        return function

    return register


def deviates(reason):
    """`@deviates("why")`: TensorFlow's own conversion does not do here what plain Python does; ours must."""

    def register(function):
        DEVIATIONS[function] = reason
        return function

    return register


def kept(reason):
    """`@kept("why")`: ours leaves this function as it is, with this reason; what it gives is plain Python's."""

    def register(function):
        KEPT[function] = reason
        return function

    return register


def features(*names):
    """`@features("LISTS")`: convert with these optional features."""

    def register(function):
        FEATURES[function] = tuple(tf.autograph.experimental.Feature[name] for name in names)
        return function

    return register
