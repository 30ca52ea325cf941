"""Loop else, generators and mangled names, which are not converted. The recorder runs each call in main() separately, because most raise."""

import tensorflow as tf


@tf.function
def for_else(values, x):
    for v in values:
        if v > x:
            x = x + v
    else:
        x = x - 1
    return x


@tf.function
def for_else_python(x, names):
    for name in names:
        if name == "skip":
            break
    else:
        x = x * 2
    return x


@tf.function
def for_flag(x, names):
    found = False
    for name in names:
        if name == "skip":
            found = True
    if not found:
        x = x * 2
    return x


@tf.function
def else_of_if_in_for(x, values):
    for v in values:
        if v > 1:
            x = x + v
        else:
            x = x - v
    return x


@tf.function
def while_else(x):
    while x < 10:
        x = x * 2
    else:
        x = x + 1
    return x


@tf.function
def while_else_python(x, n):
    while n > 0:
        n -= 1
        x = x + n
    else:
        x = x * 2
    return x


@tf.function
def while_then(x):
    while x < 10:
        x = x * 2
    x = x + 1
    return x


@tf.autograph.experimental.do_not_convert
def search(names):
    for name in names:
        if name == "stop":
            break
    else:
        return 0
    return 1


@tf.function
def calls_unconverted_for_else(x, names):
    if x > search(names):
        x = x - 1
    return x


@tf.function
def generator(values):
    for v in values:
        if v > 0:
            yield v


def clipped(values):
    for v in values:
        yield v if v < 1 else tf.constant(1)


@tf.function
def calls_generator(values):
    total = tf.constant(0)
    for v in clipped(tf.unstack(values)):
        total += v
    return total


def pairs(n):
    for i in range(n):
        yield i, i + 1


@tf.function
def calls_python_generator(x):
    for i, j in pairs(3):
        if x > i:
            x = x + j
    return x


@tf.function
def generator_expression(values):
    return tf.add_n(list(v * v for v in tf.unstack(values)))


class Mangled:
    def __init__(self, limit):
        self.__limit = limit
        self._limit = limit

    def clip(self, x):
        if x > self.__limit:
            x = self.__limit
        return x

    def scale(self, x, times):
        for _ in range(times):
            x = x * self.__limit
        return x

    def single(self, x):
        if x > self._limit:
            x = self._limit
        return x

    def dunder(self, x):
        if self.__class__.__name__ == "Mangled" and x > 0:
            x = -x
        return x


def main():
    for_else(tf.constant([1, 5]), tf.constant(2))
    for_else_python(tf.constant(1), ["a", "b"])
    for_flag(tf.constant(1), ["a", "b"])
    else_of_if_in_for(tf.constant(1), tf.constant([1, 5]))
    while_else(tf.constant(1))
    while_else_python(tf.constant(1), 2)
    while_then(tf.constant(1))
    calls_unconverted_for_else(tf.constant(1), ["a"])
    generator(tf.constant([1, 2]))
    calls_generator(tf.constant([1, 2]))
    calls_python_generator(tf.constant(1))
    generator_expression(tf.constant([1, 2]))
    tf.function(Mangled(2).clip)(tf.constant(3))
    tf.function(Mangled(2).scale)(tf.constant(3), 2)
    tf.function(Mangled(2).single)(tf.constant(3))
    tf.function(Mangled(2).dunder)(tf.constant(3))


EXAMPLES = {
    "for_else": [(tf.constant([1, 5]), tf.constant(2))],
    "for_else_python": [(tf.constant(1), ["a", "b"])],
    "for_flag": [(tf.constant(1), ["a", "b"])],
    "else_of_if_in_for": [(tf.constant(1), tf.constant([1, 5]))],
    "while_else": [(tf.constant(1),)],
    "while_else_python": [(tf.constant(1), 2)],
    "while_then": [(tf.constant(1),)],
    "calls_unconverted_for_else": [(tf.constant(1), ["a"])],
    "generator": [(tf.constant([1, 2]),)],
    "calls_generator": [(tf.constant([1, 2]),)],
    "calls_python_generator": [(tf.constant(1),)],
    "generator_expression": [(tf.constant([1, 2]),)],
    "Mangled(2).clip": [(tf.constant(3),)],
    "Mangled(2).scale": [(tf.constant(3), 2)],
    "Mangled(2).single": [(tf.constant(3),)],
    "Mangled(2).dunder": [(tf.constant(3),)],
}


RULES = {
    "for_else": "AG001",
    "for_else_python": "AG001",
    "for_flag": None,
    "else_of_if_in_for": None,
    "while_else": "AG002",
    "while_else_python": "AG002",
    "while_then": None,
    "calls_unconverted_for_else": None,
    "generator": "AG003",
    "calls_generator": "AG003",
    "calls_python_generator": None,
    "generator_expression": None,
    "Mangled(2).clip": "AG004",
    "Mangled(2).scale": "AG004",
    "Mangled(2).single": None,
    "Mangled(2).dunder": None,
}


if __name__ == "__main__":
    main()
