"""Loops over ranges, Tensors and Python sequences; counters and accumulators."""

import tensorflow as tf


@tf.function
def factorial(n):
    product = 1
    for i in tf.range(2, n + 1):
        product *= i
    return product


@tf.function
def power(x, exponent):
    result = tf.ones_like(x)
    for _ in range(exponent):
        result = result * x
    return result


@tf.function
def range_of_tensor(n):
    total = 0
    for i in range(n):
        if i % 3 == 0:
            total += i
    return total


@tf.function
def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


@tf.function
def gcd(a, b):
    while b != 0:
        a, b = b, a % b
    return a


@tf.function
def newton_sqrt(x, steps):
    guess = x / 2.0
    step = 0
    while step < steps:
        guess = 0.5 * (guess + x / guess)
        step += 1
    return guess


@tf.function
def sum_positive(values):
    total = 0.0
    for v in values:
        if v > 0:
            total += v
    return total


@tf.function
def weighted(values, weights):
    total = tf.constant(0.0)
    for w in weights:
        if w == 0.0:
            continue
        total += w * tf.reduce_sum(values)
    return total


@tf.function
def matrix_scan(m):
    best = tf.constant(-1.0)
    for row in m:
        for x in row:
            if x > best:
                best = x
    return best


@tf.function
def zipped(xs, names):
    total = 0.0
    for i, (x, name) in enumerate(zip(tf.unstack(xs), names)):
        if name == "skip":
            continue
        if x > 1.0 and i > 0:
            x = tf.constant(1.0)
        total += x
    return total


@tf.function
def stagger(n, depth):
    total = tf.constant(0)
    for level in range(depth):
        for i in tf.range(n):
            if level % 2 == 0:
                total += i
            elif i > level:
                total -= i
    return total


@tf.function
def fixed_point(x, tolerance=1e-3):
    previous = x + 1.0
    while tf.abs(x - previous) > tolerance:
        previous = x
        x = tf.cos(x)
    return x


@tf.function
def bounded_while(x, limit):
    steps = 0
    while x < 100.0 and steps < limit:
        x = x * 1.5
        steps += 1
    return x, steps


@tf.function
def shrink(x):
    while tf.reduce_max(x) > 1.0:
        for k in range(2):
            if k == 1:
                x = x - 0.25
            x = x * 0.5
    return x


@tf.function
def with_loop_options(n):
    v = tf.zeros([0])
    for i in tf.range(n):
        tf.autograph.experimental.set_loop_options(shape_invariants=[(v, tf.TensorShape([None]))])
        v = tf.concat([v, [tf.cast(i, tf.float32)]], 0)
    return v


@tf.function
def count_down(start, stop=0):
    while start > stop:
        start -= 1
    return start


def sum_digits(n):
    # Called with a Python int and with a Tensor.
    total = 0
    while n > 0:
        total += n % 10
        n //= 10
    return total


@tf.function
def digits_of_both(n):
    return sum_digits(n) + sum_digits(1234)


@tf.function
def running_mean(values):
    mean = tf.constant(0.0)
    count = 0.0
    for v in values:
        count += 1.0
        mean += (v - mean) / count
    return mean


@tf.function
def pairs(n):
    found = 0
    for i in tf.range(n):
        for j in tf.range(i):
            if (i + j) % 2 == 0:
                found += 1
    return found


@tf.function
def reversed_layers(x, sizes):
    for size in reversed(sizes):
        if size > 1:
            x = tf.repeat(x, size)
    return x


@tf.function
def bisect(low, high, target):
    mid = (low + high) / 2.0
    for _ in tf.range(20):
        mid = (low + high) / 2.0
        if mid * mid < target:
            low = mid
        else:
            high = mid
    return mid


@tf.function
def python_while(x, schedule):
    position = 0
    while position < len(schedule):
        kind = schedule[position]
        if kind == "double":
            x = x * 2
        elif kind == "abs":
            x = x if x >= 0 else -x
        position += 1
    return x


def main():
    factorial(tf.constant(5))
    power(tf.constant(2.0), 3)
    range_of_tensor(tf.constant(7))
    collatz(tf.constant(6))
    gcd(tf.constant(12), tf.constant(18))
    newton_sqrt(tf.constant(9.0), 5)
    sum_positive(tf.constant([1.0, -2.0, 3.0]))
    weighted(tf.constant([1.0, 2.0]), [0.5, 0.0, 1.0])
    matrix_scan(tf.constant([[1.0, 5.0], [3.0, 2.0]]))
    zipped(tf.constant([1.0, 2.0, 3.0]), ["a", "b", "skip"])
    stagger(tf.constant(4), 2)
    fixed_point(tf.constant(0.5))
    bounded_while(tf.constant(1.0), 8)
    shrink(tf.constant([4.0, 2.0]))
    with_loop_options(tf.constant(3))
    count_down(tf.constant(5))
    count_down(5, 2)
    digits_of_both(tf.constant(987))
    running_mean(tf.constant([1.0, 2.0, 3.0]))
    pairs(tf.constant(4))
    reversed_layers(tf.constant([1.0]), [2, 1, 3])
    bisect(tf.constant(0.0), tf.constant(4.0), tf.constant(2.0))
    python_while(tf.constant(-3), ["double", "abs"])


EXAMPLES = {
    "factorial": [(tf.constant(5),)],
    "power": [(tf.constant(2.0), 3)],
    "range_of_tensor": [(tf.constant(7),)],
    "collatz": [(tf.constant(6),)],
    "gcd": [(tf.constant(12), tf.constant(18))],
    "newton_sqrt": [(tf.constant(9.0), 5)],
    "sum_positive": [(tf.constant([1.0, -2.0, 3.0]),)],
    "weighted": [(tf.constant([1.0, 2.0]), [0.5, 0.0, 1.0])],
    "matrix_scan": [(tf.constant([[1.0, 5.0], [3.0, 2.0]]),)],
    "zipped": [(tf.constant([1.0, 2.0, 3.0]), ["a", "b", "skip"])],
    "stagger": [(tf.constant(4), 2)],
    "fixed_point": [(tf.constant(0.5),)],
    "bounded_while": [(tf.constant(1.0), 8)],
    "shrink": [(tf.constant([4.0, 2.0]),)],
    "with_loop_options": [(tf.constant(3),)],
    "count_down": [(tf.constant(5),), (5, 2)],
    "digits_of_both": [(tf.constant(987),)],
    "running_mean": [(tf.constant([1.0, 2.0, 3.0]),)],
    "pairs": [(tf.constant(4),)],
    "reversed_layers": [(tf.constant([1.0]), [2, 1, 3])],
    "bisect": [(tf.constant(0.0), tf.constant(4.0), tf.constant(2.0))],
    "python_while": [(tf.constant(-3), ["double", "abs"])],
}


if __name__ == "__main__":
    main()
