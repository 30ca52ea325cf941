"""Python's built-in functions on Tensors and on Python values."""

import tensorflow as tf
from cases import T, case, kept


@case(T([-1, 2, -3]))
def absolute(v):
    return abs(v), abs(-3)


@case(T([1, 2, 3]))
def length(v):
    return len(v), len([1, 2])


@case(T(3.7))
def conversions(x):
    return int(x), float(x), int("4"), float("0.5")


@case(T(4))
def range_of_tensor(n):
    total = T(0)
    for i in range(1, n):
        if i > 1:
            total += i
    return total


@case([T(1), T(2)])
def enumerate_and_zip(items):
    total = T(0)
    for i, (a, b) in enumerate(zip(items, reversed(items))):
        total += i * a + b
    return total


@case([T(1), T(2)])
def map_of_list(items):
    return list(map(lambda v: v + 1, items))


@case([1, 2, 3, 4])
def filter_of_list(items):
    return list(filter(lambda n: n % 2 == 0, items))


@case([1, 0, 2])
@case([1, 1, 2])
def any_all(items):
    return any(n == 0 for n in items), all(items)


@case([3, 1, 2])
def sorted_list(items):
    return sorted(items), sorted(items, key=lambda n: -n), sorted(items, reverse=True)


@case(T([3, 1, 2]))
def sorted_tensor(v):
    return sorted(v)


@case([3, 1, 2])
def python_extremes(items):
    return max(items), min(items), sum(items)


@case(T(3))
def types(x):
    return isinstance(x, tf.Tensor), isinstance(3, int), hasattr(x, "dtype"), getattr(x, "missing", 5)


@case(T(3))
@kept("`locals` reads the frame of the function, which conversion splits into several functions")
def locals_and_globals(x):
    y = 5
    return x + locals()["y"], "tf" in globals()


@case(T(3))
@kept("`eval` reads the frame of the function, which conversion splits into several functions")
def evaluated(x):
    y = 4
    return eval("x + y")


@case(T(3))
def printed(x):
    if x > 0:
        tf.print("positive", x, output_stream="file:///dev/null")
        x = x + 1
    return x


@case([5, 6])
def next_of_iterator(items):
    iterator = iter(items)
    first = next(iterator)
    second = next(iterator)
    return first, second, next(iterator, "end")


@case(T(3))
def dict_of_keywords(x):
    return dict(a=x, b=x + 1)


@case(T([1, 2, 3, 4]))
def staged_in_range_len(v):
    total = 0
    for i in range(len(v)):
        if v[i] > 2:
            total += v[i]
    return total


@case(T(3))
def round_and_pow(x):
    return x + round(2.6), pow(2, 3), divmod(7, 2)
