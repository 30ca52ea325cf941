"""`for` loops over Tensors, ranges and Python iterables."""

import tensorflow as tf
from cases import T, case


@case(T(5))
@case(T(0))
def over_range(n):
    s = 0
    for i in tf.range(n):
        s += i
    return s


@case(T(5))
def over_python_range_of_tensor(n):
    s = T(0)
    for i in range(n):
        s += i
    return s


@case(T([1, 2, 3]))
def over_tensor(v):
    s = 0
    for x in v:
        s = s + x
    return s


@case(T([[1, 2], [3, 4]]))
def over_rows(m):
    s = T([0, 0])
    for row in m:
        s = s + row
    return s


@case(T([[1, 2], [3, 4], [5, 6]]))
def nested(m):
    s = 0
    for row in m:
        for x in row:
            s = s * 2 + x
    return s


@case(3, T(1))
def unrolled(n, x):
    for i in range(n):
        x = x + i
    return x


@case([1, 2, 3], T(1))
def over_list(items, x):
    for item in items:
        x = x * item
    return x


@case(T(4))
def condition_inside(n):
    even = 0
    odd = 0
    for i in tf.range(n):
        if i % 2 == 0:
            even += i
        else:
            odd += i
    return even, odd


@case(T(4))
def steps(n):
    s = 0
    for i in tf.range(1, 3 * n, 3):
        s += i
    return s


@case(T(4))
def downwards(n):
    s = T(0)
    for i in tf.range(n, 0, -1):
        s = s * 10 + i
    return s


@case(T([1.0, 2.0, 3.0]))
def several_variables(v):
    count = 0
    total = 0.0
    largest = T(-1.0)
    for x in v:
        count += 1
        total += x
        if x > largest:
            largest = x
    return count, total, largest


@case(T(3))
def last_value_of_target(n):
    i = -1
    for i in tf.range(n):
        pass
    return i


@case(T(3))
def tuple_state(n):
    pair = (0, 1)
    for _ in tf.range(n):
        pair = (pair[1], pair[0] + pair[1])
    return pair


@case(T(3))
def dict_state(n):
    d = {"a": T(0), "b": T(1)}
    for i in tf.range(n):
        d["a"] += i
        d["b"] *= 2
    return d


@case(T([1, 2]), T([10, 20]))
def zipped_static(a, b):
    s = T(0)
    for x, y in zip(tf.unstack(a), tf.unstack(b)):
        s += x * y
    return s


@case([T(5), T(6)])
def enumerated_list(items):
    s = T(0)
    for i, x in enumerate(items):
        s += i * x
    return s


@case({"a": T(1), "b": T(2)})
def over_items(d):
    s = T(0)
    for name, value in sorted(d.items()):
        s += value * len(name)
    return s


@case(T([3, 1, 2]))
def array_written(v):
    out = tf.TensorArray(tf.int32, size=3)
    i = 0
    for x in v:
        out = out.write(i, x * x)
        i += 1
    return out.stack()


@case(T(5))
def loop_after_loop(n):
    a = 0
    for i in tf.range(n):
        a += i
    b = a
    for i in tf.range(n):
        b += a
    return b


@case(T(3), T(2))
def triangular(n, m):
    s = 0
    for i in tf.range(n):
        for j in tf.range(i):
            s += i * m + j
    return s


@case(T([[1, 2], [3, 4]]))
def unpacked_target(m):
    s = T(0)
    for a, b in [(m[0], m[1]), (m[1], m[0])]:
        s += tf.reduce_sum(a * b)
    return s


@case(T(4))
def target_reused_after(n):
    total = 0
    for x in tf.range(n):
        total += x
    x = total + 1
    return x


@case(T(3))
def body_with_local_names(n):
    total = 0
    for i in tf.range(n):
        square = i * i
        cube = square * i
        total += cube - square
    return total


@case(T(0))
@case(T(3))
def zero_iterations_keep_initial(n):
    y = T(7)
    for i in tf.range(n):
        y = i
    return y


@case(T(["a", "b"]))
def over_strings(words):
    joined = T("")
    for w in words:
        joined = joined + w
    return joined


@case(T(3))
def generator_iterated(n):
    def numbers():
        yield 1
        yield 2
        yield 3

    for k in numbers():
        n = n * k
    return n


@case(T(2))
def star_target(n):
    for first, *rest in [(1, 2, 3), (4, 5, 6)]:
        n = n + first * sum(rest)
    return n
