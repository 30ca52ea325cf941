"""Small whole programs."""

import tensorflow as tf
from cases import T, case


@case(T([3.0, 1.0, 2.0]))
def insertion_sort(v):
    n = tf.shape(v)[0]
    for i in tf.range(1, n):
        j = i
        while j > 0 and v[j - 1] > v[j]:
            left, right = v[j - 1], v[j]
            v = tf.tensor_scatter_nd_update(v, [[j - 1], [j]], [right, left])
            j -= 1
    return v


@case(T([2, 7, 11, 15]), T(18))
def two_sum(v, target):
    first = -1
    second = -1
    n = tf.shape(v)[0]
    for i in tf.range(n):
        for j in tf.range(i + 1, n):
            if v[i] + v[j] == target:
                first = i
                second = j
                break
        if first >= 0:
            break
    return first, second


@case(T([[0.5, 0.5], [0.2, 0.8]]))
def power_iteration(m):
    v = T([1.0, 0.0])
    change = T(1.0)
    steps = 0
    while change > 1e-3 and steps < 50:
        new = tf.linalg.matvec(m, v, transpose_a=True)
        change = tf.reduce_max(tf.abs(new - v))
        v = new
        steps += 1
    return v, steps


@case(T([[1.0, 0.0], [0.5, 1.0], [2.0, 1.0]]))
def recurrent_cell(inputs):
    state = tf.zeros([2])
    outputs = tf.TensorArray(tf.float32, size=3)
    for t in tf.range(3):
        state = tf.tanh(inputs[t] + 0.5 * state)
        if tf.reduce_sum(state) > 1.0:
            state = state * 0.5
        outputs = outputs.write(t, state)
    return outputs.stack(), state


@case(T(100))
def primes(n):
    count = 0
    for candidate in tf.range(2, n):
        prime = True
        divisor = 2
        while divisor * divisor <= candidate:
            if candidate % divisor == 0:
                prime = False
                break
            divisor += 1
        if prime:
            count += 1
    return count


@case(T(2.0), T(10))
@case(T(2.0), T(0))
def power_by_squaring(base, exponent):
    result = T(1.0)
    while exponent > 0:
        if exponent % 2 == 1:
            result *= base
        base *= base
        exponent //= 2
    return result


@case(T(5.0))
def gradient_descent(x):
    for _ in tf.range(20):
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = (x - 3.0) ** 2
        gradient = tape.gradient(loss, x)
        if tf.abs(gradient) < 1e-6:
            break
        x = x - 0.25 * gradient
    return x


@case(T([1, 1, 2, 3, 3, 3]))
def longest_run(v):
    best = 0
    run = 0
    previous = T(-1)
    for x in v:
        if x == previous:
            run += 1
        else:
            run = 1
        if run > best:
            best = run
        previous = x
    return best


@case(T(0.5), T(0.1))
def euler(x, h):
    t = 0.0
    while t < 1.0:
        slope = -x if x > 0.25 else T(0.0)
        x = x + h * slope
        t += h
    return x


@case(T([5, 3, 8]), T(8))
@case(T([5, 3, 8]), T(9))
def find(v, wanted):
    index = -1
    for i in tf.range(tf.size(v)):
        if v[i] == wanted:
            index = i
            break
    return index


@case(T([0.1, 0.7, 0.2]))
def sampled(probabilities):
    total = 0.0
    chosen = 0
    for p in probabilities:
        total += p
        if total > 0.5:
            break
        chosen += 1
    return chosen


@case(T([[1, 2], [3, 4]]), T([[5, 6], [7, 8]]))
def matrix_product(a, b):
    rows = tf.TensorArray(tf.int32, size=2)
    for i in tf.range(2):
        row = tf.TensorArray(tf.int32, size=2)
        for j in tf.range(2):
            s = 0
            for k in tf.range(2):
                s += a[i, k] * b[k, j]
            row = row.write(j, s)
        rows = rows.write(i, row.stack())
    return rows.stack()


@case(T(13))
def josephus(n):
    survivor = 0
    for k in tf.range(2, n + 1):
        survivor = (survivor + 3) % k
    return survivor + 1


@case(T(1000.0))
def interest(amount):
    years = 0
    while amount < 2000.0:
        rate = 0.05
        if amount > 1500.0:
            rate = 0.07
        amount *= 1.0 + rate
        years += 1
    return years


@case(T([1.0, 5.0, 2.0, 4.0]))
def two_largest(v):
    first = T(float("-inf"))
    second = T(float("-inf"))
    for x in v:
        if x > first:
            first, second = x, first
        elif x > second:
            second = x
    return first, second
