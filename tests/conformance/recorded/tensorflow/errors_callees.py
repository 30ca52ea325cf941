"""Staged control flow in calls that AutoGraph does not convert. The recorder runs each call in main() separately, because most raise."""

import functools

import tensorflow as tf


class Clipped:
    def __init__(self, x):
        if x > 1:
            x = tf.constant(1)
        self.x = x


class Unclipped:
    def __init__(self, x, limit=1):
        if limit > 1:
            limit = 2
        self.x = x
        self.limit = limit

    def clip(self):
        if self.x > self.limit:
            return tf.constant(1)
        return self.x


@tf.function
def constructor(x):
    return Clipped(x).x


@tf.function
def method_after_constructor(x):
    return Unclipped(x).clip()


class Guard:
    def __init__(self, x):
        self.x = x

    def __enter__(self):
        if self.x > 0:
            return self.x
        return -self.x

    def __exit__(self, *details):
        return False


class QuietGuard(Guard):
    def __enter__(self):
        return tf.abs(self.x)


@tf.function
def context_manager(x):
    with Guard(x) as y:
        return y + 1


@tf.function
def quiet_context_manager(x):
    with QuietGuard(x) as y:
        z = y + 1 if y > 2 else y
    return z


class Countdown:
    def __init__(self, start):
        self.value = start

    def __iter__(self):
        return self

    def __next__(self):
        if self.value <= 0:
            raise StopIteration
        self.value = self.value - 1
        return self.value


@tf.function
def iterator_protocol(x):
    total = 0
    for value in Countdown(x):
        total = total + value
    return total


@tf.function
def python_iterator(x):
    for value in Countdown(3):
        if x > value:
            x = x + value
    return x


@functools.lru_cache(maxsize=None)
def cached(limit, x):
    if x > limit:
        return x
    return limit


@functools.lru_cache(maxsize=None)
def cached_number(n):
    return n * 2 if n > 1 else n


@tf.function
def calls_cached(x):
    return cached(1, x)


@tf.function
def calls_cached_number(x):
    if x > cached_number(3):
        x = x - 1
    return x


@tf.autograph.experimental.do_not_convert
def opaque(x):
    if x > 0:
        return x
    return -x


@tf.autograph.experimental.do_not_convert
def opaque_mode(x, mode):
    return tf.abs(x) if mode == "abs" else x


@tf.function
def calls_opaque(x):
    return opaque(x) + 1


@tf.function
def calls_opaque_mode(x):
    y = opaque_mode(x, "abs")
    return y if y > 1 else -y


def main():
    constructor(tf.constant(3))
    method_after_constructor(tf.constant(3))
    context_manager(tf.constant(3))
    quiet_context_manager(tf.constant(3))
    iterator_protocol(tf.constant(3))
    python_iterator(tf.constant(3))
    calls_cached(tf.constant(3))
    calls_cached_number(tf.constant(3))
    calls_opaque(tf.constant(3))
    calls_opaque_mode(tf.constant(3))


EXAMPLES = {
    "constructor": [(tf.constant(3),)],
    "method_after_constructor": [(tf.constant(3),)],
    "context_manager": [(tf.constant(3),)],
    "quiet_context_manager": [(tf.constant(3),)],
    "iterator_protocol": [(tf.constant(3),)],
    "python_iterator": [(tf.constant(3),)],
    "calls_cached": [(tf.constant(3),)],
    "calls_cached_number": [(tf.constant(3),)],
    "calls_opaque": [(tf.constant(3),)],
    "calls_opaque_mode": [(tf.constant(3),)],
}


RULES = {
    "constructor": "AG014",
    "method_after_constructor": None,
    "context_manager": "AG014",
    "quiet_context_manager": None,
    "iterator_protocol": "AG014",
    "python_iterator": None,
    "calls_cached": "AG014",
    "calls_cached_number": None,
    "calls_opaque": "AG014",
    "calls_opaque_mode": None,
}


if __name__ == "__main__":
    main()
