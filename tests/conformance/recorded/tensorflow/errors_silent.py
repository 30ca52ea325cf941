"""Branches that raise no error, but whose result differs from that of eager Python."""

import tensorflow as tf


@tf.function
def append_in_branches(x):
    events = []
    if x > 0:
        events.append("positive")
    else:
        events.append("negative")
    return len(events)


class Meter:
    def __init__(self):
        self.calls = 0

    def count_positive(self, x):
        if x > 0:
            self.bump()
        return self.calls

    def bump(self):
        self.calls += 1


@tf.function
def append_under_python(x, flag):
    events = []
    if flag:
        events.append("on")
    else:
        events.append("off")
    return x + len(events) if x > 0 else x


@tf.function
def swallowed(x):
    try:
        if x > 0:
            raise ValueError("positive")
        y = x
    except ValueError:
        y = -x
    return y


@tf.function
def swallowed_type_error(x):
    try:
        if x > 0:
            y = 1
        else:
            y = 2.0
    except TypeError:
        y = 3
    return y


@tf.function
def try_around_python(x, kind):
    try:
        if kind == "bad":
            raise ValueError(kind)
        y = x
    except ValueError:
        y = -x
    return y if y > 0 else x


def record(calls, x):
    calls.append(1)
    return x


@tf.function
def middle_twice(x):
    calls = []
    inside = 0 < record(calls, x) < 10
    return len(calls) if inside is not None else 0


@tf.function
def middle_twice_in_if(x):
    calls = []
    if 0 < record(calls, x) < 10:
        x = x + 1
    return x + len(calls)


@tf.function
def middle_once(x):
    calls = []
    middle = record(calls, x)
    inside = 0 < middle < 10
    return len(calls) if inside is not None else 0


def main():
    append_in_branches(tf.constant(1))
    tf.function(Meter().count_positive)(tf.constant(-1))
    append_under_python(tf.constant(1), True)
    swallowed(tf.constant(-3))
    swallowed_type_error(tf.constant(3))
    try_around_python(tf.constant(-3), "bad")
    middle_twice(tf.constant(3))
    middle_twice_in_if(tf.constant(3))
    middle_once(tf.constant(3))


EXAMPLES = {
    "append_in_branches": [(tf.constant(1),)],
    "Meter().count_positive": [(tf.constant(-1),)],
    "append_under_python": [(tf.constant(1), True)],
    "swallowed": [(tf.constant(-3),)],
    "swallowed_type_error": [(tf.constant(3),)],
    "try_around_python": [(tf.constant(-3), "bad")],
    "middle_twice": [(tf.constant(3),)],
    "middle_twice_in_if": [(tf.constant(3),)],
    "middle_once": [(tf.constant(3),)],
}


RULES = {
    "append_in_branches": "AG110",
    "Meter().count_positive": "AG110",
    "append_under_python": None,
    "swallowed": "AG111",
    "swallowed_type_error": "AG111",
    "try_around_python": None,
    "middle_twice": "AG114",
    "middle_twice_in_if": "AG114",
    "middle_once": None,
}


if __name__ == "__main__":
    main()
