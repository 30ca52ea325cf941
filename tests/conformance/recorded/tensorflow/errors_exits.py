"""Python loops that were meant to be staged. The recorder runs each call in main() separately, because most raise."""

import tensorflow as tf


@tf.function
def break_in_range(x):
    for i in range(5):
        if x > i:
            break
    return x


@tf.function
def break_in_list(x):
    for limit in [1, 2, 3]:
        x = x + limit
        if x > 4:
            break
    return x


@tf.function
def return_in_range(x, n):
    for _ in range(n):
        x = x * 2
        if x > 10:
            return x
    return x


@tf.function
def break_in_zip(xs, limits):
    total = tf.constant(0)
    for x, limit in zip(xs, limits):
        if x > limit:
            break
        total += x
    return total


@tf.function
def break_in_enumerate(x, names):
    for index, name in enumerate(names):
        if name == "a":
            continue
        if x < index:
            break
        x = x - 1
    return x


@tf.function
def break_in_staged_range(x):
    for i in tf.range(5):
        if x > i:
            break
    return x


@tf.function
def break_on_python(x, n):
    for i in range(n):
        if i > 2:
            break
        x = x + i
    return x


@tf.function
def continue_in_range(x):
    for i in range(5):
        if x > i:
            continue
        x = x + i
    return x


@tf.function
def while_true(x):
    while True:
        x = x * 2
        if x > 100:
            break
    return x


@tf.function
def flag_becomes_tensor(x):
    running = True
    while running:
        x = x * 2
        running = x < 100
    return x


@tf.function
def counter_becomes_tensor(n):
    i = 0
    while i < 10:
        i = i + n
    return i


@tf.function
def starts_from_numbers(re, im, limit):
    x, y = 0.0, 0.0
    steps = 0
    while x * x + y * y < 4.0 and steps < limit:
        x, y = x * x - y * y + re, 2.0 * x * y + im
        steps += 1
    return steps


@tf.function
def converged_flag(x, rate, max_steps):
    converged = False
    steps = 0
    while not converged and steps < max_steps:
        previous = x
        x = x - rate * x
        steps += 1
        converged = tf.abs(x - previous) < 0.01
    return x


@tf.function
def cooled(x, temperature, factor):
    while temperature > 0.5:
        x = x * temperature
        temperature = temperature * factor
    return x


@tf.function
def tensor_flag(x):
    running = tf.constant(True)
    while running:
        x = x * 2
        running = x < 100
    return x


@tf.function
def while_condition(x):
    x = x * 2
    while x <= 100:
        x = x * 2
    return x


@tf.function
def python_counter(x, n):
    i = 0
    while i < n:
        x = x + i
        i += 1
    return x


@tf.function
def number_overwritten(x):
    i = 0
    while i < 3:
        i += 1
        if x > i:
            x = x - i
    i = x
    return i


def main():
    break_in_range(tf.constant(3))
    break_in_list(tf.constant(3))
    return_in_range(tf.constant(3), 4)
    break_in_zip([tf.constant(1), tf.constant(4)], [2, 3])
    break_in_enumerate(tf.constant(3), ["a", "b"])
    break_in_staged_range(tf.constant(3))
    break_on_python(tf.constant(3), 5)
    continue_in_range(tf.constant(3))
    while_true(tf.constant(3))
    flag_becomes_tensor(tf.constant(3))
    counter_becomes_tensor(tf.constant(3))
    starts_from_numbers(tf.constant(0.1), tf.constant(0.2), 10)
    converged_flag(tf.constant(3.0), 0.1, 20)
    cooled(tf.constant(3.0), 2.0, tf.constant(0.5))
    tensor_flag(tf.constant(3))
    while_condition(tf.constant(3))
    python_counter(tf.constant(3), 4)
    number_overwritten(tf.constant(3))


EXAMPLES = {
    "break_in_range": [(tf.constant(3),)],
    "break_in_list": [(tf.constant(3),)],
    "return_in_range": [(tf.constant(3), 4)],
    "break_in_zip": [([tf.constant(1), tf.constant(4)], [2, 3])],
    "break_in_enumerate": [(tf.constant(3), ["a", "b"])],
    "break_in_staged_range": [(tf.constant(3),)],
    "break_on_python": [(tf.constant(3), 5)],
    "continue_in_range": [(tf.constant(3),)],
    "while_true": [(tf.constant(3),)],
    "flag_becomes_tensor": [(tf.constant(3),)],
    "counter_becomes_tensor": [(tf.constant(3),)],
    "starts_from_numbers": [(tf.constant(0.1), tf.constant(0.2), 10)],
    "converged_flag": [(tf.constant(3.0), 0.1, 20)],
    "cooled": [(tf.constant(3.0), 2.0, tf.constant(0.5))],
    "tensor_flag": [(tf.constant(3),)],
    "while_condition": [(tf.constant(3),)],
    "python_counter": [(tf.constant(3), 4)],
    "number_overwritten": [(tf.constant(3),)],
}


RULES = {
    "break_in_range": "AG301",
    "break_in_list": "AG301",
    "return_in_range": "AG301",
    "break_in_zip": "AG301",
    "break_in_enumerate": "AG301",
    "break_in_staged_range": None,
    "break_on_python": None,
    "continue_in_range": None,
    "while_true": "AG302",
    "flag_becomes_tensor": "AG302",
    "counter_becomes_tensor": "AG302",
    "starts_from_numbers": "AG302",
    "converged_flag": "AG302",
    "cooled": "AG302",
    "tensor_flag": None,
    "while_condition": None,
    "python_counter": None,
    "number_overwritten": None,
}


if __name__ == "__main__":
    main()
