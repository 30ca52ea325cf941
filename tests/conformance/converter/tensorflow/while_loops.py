"""`while` loops."""

import tensorflow as tf
from cases import T, case


@case(T(5))
@case(T(0))
def countdown(n):
    s = 0
    while n > 0:
        s += n
        n -= 1
    return s


@case(T(27))
def collatz(n):
    steps = 0
    while n != 1 and steps < 200:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


@case(T(48), T(18))
def gcd(a, b):
    while b > 0:
        a, b = b, a % b
    return a


@case(3, T(1))
def python_condition(n, x):
    while n > 0:
        x = x * 2
        n -= 1
    return x


@case(T(2.0))
def newton(x):
    guess = x
    error = T(1.0)
    while error > 1e-4:
        new = 0.5 * (guess + x / guess)
        error = tf.abs(new - guess)
        guess = new
    return guess


@case(T(3), T(4))
def nested(n, m):
    s = 0
    while n > 0:
        k = m
        while k > 0:
            s += n * k
            k -= 1
        n -= 1
    return s


@case(T(10))
def compound_condition(n):
    i = 0
    while i < n and i * i < 40:
        i += 1
    return i


@case(T(10))
def negated_condition(n):
    i = T(0)
    while not i >= n:
        i += 3
    return i


@case(T([5, 3, 9, 1]))
def index_of_minimum(v):
    best = 0
    i = 1
    while i < tf.shape(v)[0]:
        if v[i] < v[best]:
            best = i
        i += 1
    return best


@case(T(100))
def binary_search(target):
    low = T(0)
    high = T(1000)
    while low < high:
        middle = (low + high) // 2
        if middle * middle < target:
            low = middle + 1
        else:
            high = middle
    return low


@case(T(6))
def fibonacci(n):
    a, b = 0, 1
    while n > 0:
        a, b = b, a + b
        n -= 1
    return a


@case(T(5))
def call_in_condition(n):
    def large(k):
        return k > 2

    while large(n):
        n -= 1
    return n


@case(T([1.0, 2.0, 4.0]))
def vector_state(v):
    count = 0
    while tf.reduce_max(v) > 0.1:
        v = v / 2
        count += 1
    return count, v


@case(T(4))
def state_as_tuple(n):
    acc = (T(0), T(1))
    while n > 0:
        acc = acc[1], acc[0] + acc[1]
        n -= 1
    return acc


@case(T(4))
def temporary_names(n):
    total = 0
    while n > 0:
        twice = n * 2
        total = total + twice
        n = n - 1
    return total


@case(T(3))
def while_in_if(x):
    if x > 0:
        while x < 100:
            x = x * x
    return x


@case(T(3))
@case(T(-3))
def if_in_while_in_else(x):
    if x > 0:
        r = x
    else:
        r = T(0)
        while x < 0:
            if x % 2 == 0:
                r += x
            x += 1
    return r


@case(T(7))
def for_in_while(n):
    s = 0
    while n > 0:
        for i in tf.range(n):
            s += i
        n -= 3
    return s


@case(T(1))
def condition_never_true(x):
    while x > 10:
        x = x + 1
    return x


@case(T(12))
def shifted_bits(n):
    bits = 0
    while tf.greater(n, 0):
        bits += n % 2
        n = tf.bitwise.right_shift(n, 1)
    return bits


@case(T(5))
def names_of_generated_code(n):
    loop_body = 0
    loop_test = 1
    get_state = 2
    while n > 0:
        loop_body += loop_test
        get_state += loop_body
        n -= 1
    return loop_body, get_state
