"""Loops and state between calls that raise no error, but whose result differs from that of eager Python."""

import itertools

import tensorflow as tf


class Meter:
    def __init__(self):
        self.calls = 0
        self.total = 0
        self.flag = False

    def bump(self):
        self.calls += 1

    def bump_all(self, values):
        for v in values:
            self.bump()
            tf.print(v, output_stream="file:///dev/null")
        return self.calls

    def first_call_only(self, x):
        if self.calls == 0:
            x = x * 10
        self.calls += 1
        return x

    def toggled(self, x):
        self.flag = not self.flag
        return x if self.flag else -x

    def explicit(self, values):
        for v in values:
            self.total = self.total + v
        return self.total


@tf.function
def best_from_none(values):
    best = None
    for v in values:
        if best is None or v > best:
            best = v
    return best


@tf.function
def last_or_none(n):
    smallest = None
    for i in tf.range(5, 5 + n):
        if smallest is None:
            smallest = i
        elif i < smallest:
            smallest = i
    return smallest


@tf.function
def best_from_first(values):
    best = values[0]
    for v in values:
        if v > best:
            best = v
    return best


@tf.function
def collected_length(values):
    kept = []
    for v in values:
        kept.append(v)
    return len(kept)


@tf.function
def counted_in_dictionary(values):
    counts = {}
    for v in values:
        counts[len(counts)] = 1
    return len(counts)


@tf.function
def collected_unrolled(values):
    kept = []
    for v in tf.unstack(values):
        kept.append(v)
    return len(kept)


@tf.function
def nonlocal_count(values):
    count = 0

    def visit(v):
        nonlocal count
        if v > 0:
            count += 1

    for v in values:
        visit(v)
    return count


@tf.function
def returned_count(values):
    def visit(v, count):
        return count + 1 if v > 0 else count

    count = 0
    for v in values:
        count = visit(v, count)
    return count


@tf.function
def lambda_before_loop(n):
    total = 0
    read = lambda: total
    for i in tf.range(n):
        total = total + i
        if read() > 100:
            total = 0
    return read()


@tf.function
def lambda_scale(n):
    scale = 1
    scaled = lambda v: v * scale
    result = 0
    for i in tf.range(n):
        scale = scale + i
        result = scaled(2)
    return result


@tf.function
def lambda_of_last(n):
    last = 0
    read = lambda: last
    for i in tf.range(n):
        last = i
    return read()


@tf.function
def lambda_in_while(x):
    previous = x
    change = lambda: x - previous
    while x < 10:
        previous = x + 0
        x = x * 2
    return change()


@tf.function
def function_before_loop(n):
    total = 0

    def read():
        return total

    for i in tf.range(n):
        total = total + i
    return read()


class Stream:
    def __init__(self):
        self.numbers = iter([1, 2, 3, 4, 5, 6])
        self.serial = itertools.count()

    def from_iterator(self, x):
        return x + next(self.numbers)

    def numbered(self, x):
        return x * next(self.serial)

    def untouched(self, x):
        return x + len(list(range(3)))


def main():
    best_from_none(tf.constant([-3, -1]))
    last_or_none(tf.constant(3))
    best_from_first(tf.constant([-3, -1]))
    collected_length(tf.constant([1, 2, 3]))
    counted_in_dictionary(tf.constant([1, 2, 3]))
    collected_unrolled(tf.constant([1, 2, 3]))
    nonlocal_count(tf.constant([1, 2, 3]))
    tf.function(Meter().bump_all)(tf.constant([1, 2, 3]))
    returned_count(tf.constant([1, 2, 3]))
    tf.function(Meter().explicit)(tf.constant([1, 2, 3]))
    lambda_before_loop(tf.constant(3))
    lambda_scale(tf.constant(3))
    lambda_of_last(tf.constant(3))
    lambda_in_while(tf.constant(3))
    function_before_loop(tf.constant(3))
    tf.function(Meter().first_call_only)(tf.constant(1))
    tf.function(Meter().first_call_only)(tf.constant(2))
    tf.function(Meter().toggled)(tf.constant(1))
    tf.function(Meter().toggled)(tf.constant(2))
    tf.function(Stream().from_iterator)(tf.constant(1))
    tf.function(Stream().from_iterator)(tf.constant(2))
    tf.function(Stream().numbered)(tf.constant(1))
    tf.function(Stream().numbered)(tf.constant(2))
    tf.function(Stream().untouched)(tf.constant(1))


EXAMPLES = {
    "best_from_none": [(tf.constant([-3, -1]),)],
    "last_or_none": [(tf.constant(3),)],
    "best_from_first": [(tf.constant([-3, -1]),)],
    "collected_length": [(tf.constant([1, 2, 3]),)],
    "counted_in_dictionary": [(tf.constant([1, 2, 3]),)],
    "collected_unrolled": [(tf.constant([1, 2, 3]),)],
    "nonlocal_count": [(tf.constant([1, 2, 3]),)],
    "Meter().bump_all": [(tf.constant([1, 2, 3]),)],
    "returned_count": [(tf.constant([1, 2, 3]),)],
    "Meter().explicit": [(tf.constant([1, 2, 3]),)],
    "lambda_before_loop": [(tf.constant(3),)],
    "lambda_scale": [(tf.constant(3),)],
    "lambda_of_last": [(tf.constant(3),)],
    "lambda_in_while": [(tf.constant(3),)],
    "function_before_loop": [(tf.constant(3),)],
    "Meter().first_call_only": [(tf.constant(1),), (tf.constant(2),)],
    "Meter().toggled": [(tf.constant(1),), (tf.constant(2),)],
    "Stream().from_iterator": [(tf.constant(1),), (tf.constant(2),)],
    "Stream().numbered": [(tf.constant(1),), (tf.constant(2),)],
    "Stream().untouched": [(tf.constant(1),)],
}


RULES = {
    "best_from_none": "AG202",
    "last_or_none": "AG202",
    "best_from_first": None,
    "collected_length": "AG210",
    "counted_in_dictionary": "AG210",
    "collected_unrolled": None,
    "nonlocal_count": "AG212",
    "Meter().bump_all": "AG212",
    "returned_count": None,
    "Meter().explicit": None,
    "lambda_before_loop": None,
    "lambda_scale": None,
    "lambda_of_last": "AG213",
    "lambda_in_while": "AG213",
    "function_before_loop": None,
    "Meter().first_call_only": "AG409",
    "Meter().toggled": "AG409",
    "Stream().from_iterator": "AG407",
    "Stream().numbered": "AG407",
    "Stream().untouched": None,
}


if __name__ == "__main__":
    main()
