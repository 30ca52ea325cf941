"""Code that needs the Python number of a staged number: the trace uses the number of its call, and each run checks that it
is the same."""

import collections
import copy
import decimal
import fractions
import json
import math
import random
import statistics

import autograph as ag
import numpy as np
import pytest
import torch
from oracle import assert_same, t

USES = {
    "index": lambda n, v: ([5, 6, 7, 8][n], "abcd"[n], (1, 2, 3, 4)[:n], list(range(9))[n::2]),
    "bits": lambda n, v: (n & 3, n | 4, n ^ 5, n << 2, n >> 1, ~n, 1 << n, bool(n & 1)),
    "booleans": lambda n, v: ((n > 1) & (v > 1), (n > 1) | (v > 9), (n > 1) ^ (v > 1)),
    "methods of int": lambda n, v: (n.bit_length(), n.bit_count(), n.to_bytes(2, "big"), n.real, n.denominator),
    "methods of float": lambda n, v: (v.is_integer(), v.hex(), v.as_integer_ratio(), v.imag, v.conjugate()),
    "arithmetic": lambda n, v: (divmod(n, 2), divmod(v, 2), divmod(7, n), pow(n, 2), pow(n, 2, 5)),
    "math": lambda n, v: (math.factorial(n), math.comb(5, n), math.isqrt(n), math.frexp(v), math.gcd(n, 6)),
    "text": lambda n, v: (hex(n), bin(n), oct(n), chr(n + 65), bytes([n])),
    "keys": lambda n, v: ({n: v}, {v: n}, {n}, {(n, v): 1}, frozenset([n]), hash(v), n in {1, 2}),
    "counts": lambda n, v: (collections.Counter([n, n, 2]), collections.Counter([v, v]).most_common(1)),
    "iteration": lambda n, v: (list(range(n)), [i * v for i in range(n)], dict.fromkeys(range(n))),
    "slices": lambda n, v: (slice(n, None), range(9)[slice(n, None)]),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_uses(use):
    def f(x):
        return use(int(x[0]), x[1].item())

    assert_same(f, (t(1, 2.5),), (t(2, 2),), (t(3, 1.5),), (t(1, 2.5),))


def test_state_with_numbers_as_keys():
    class Log:
        pass

    log = Log()

    def f(x):
        log.counts = {int(x[0]): 1, x[1].item(): {int(x[0])}}
        return x

    assert_same(f, (t(1, 2.5),), (t(3, 1.5),))
    assert log.counts == {3: 1, 1.5: {3}} and [type(key) for key in log.counts] == [int, float]


def test_zero_and_nan():
    """`==` does not distinguish zeros of different signs, and a NaN is not equal to itself."""

    def f(x):
        return repr(x[0].item())[0], "1" in {str(x[0].item()): 1}

    calls = [(t(number),) for number in (0.0, -0.0, math.nan, 1.5)]
    for first in range(len(calls)):
        assert_same(f, *calls[first:], *calls[:first])


def test_libraries_get_numbers_of_python():
    """Code of libraries that checks the class of a number gets a Python number. Each run checks that the number is the
    same."""

    def f(x):
        n, y = x[0].int().item(), x[1].item()
        draws = random.Random(n).random(), random.Random(y).random()
        texts = json.dumps({"n": n, "all": [n, y]}), str(fractions.Fraction(n, 7)), str(decimal.Decimal(n) + 1)
        arrays = float(np.sqrt(n)), np.array([n, n + 1]).sum().item(), type(np.add(n, 1)).__name__
        return draws, texts, arrays, n + 1j, y * 2j, statistics.median([n, 5, y]), range(n)[-1], 1 in range(n)

    assert_same(f, (t(3, 0.5),), (t(4, 0.5),), (t(3, 0.25),))


def test_a_type_error_of_a_callback_is_not_tried_again():
    calls = []

    def key(n):
        calls.append(1)
        return n + "text"

    def f(x):
        try:
            return max(1, x[0].item(), key=key)
        except TypeError:
            return len(calls)

    assert ag.function(f)(t(3)) == 1


def test_a_number_is_looked_up_once():
    def f(x):
        counts, numbers = {}, x.int().tolist()
        for number in numbers:
            counts[number] = counts.get(number, 0) + 1
        return [counts[number] for number in numbers]

    staged = ag.function(f)
    assert staged(t(1, 2, 1)) == [2, 1, 2]
    assert staged.graph(t(1, 2, 1)).count("assumed that the number") == 3


def test_in_a_loop():
    """The number of iterations is decided, too."""

    def f(x, n):
        while n > 0:
            n = n - 1
            x = x + [1, 2, 3, 4].pop(int(n))
        return x

    assert_same(f, (t(1), torch.tensor(3)), (t(1), torch.tensor(2)))


def test_numbers_in_numpy():
    """Operators of NumPy's arrays use the number for this call, and those of its numbers are staged."""

    def f(x):
        n, v = int((x > 0).sum()), x.abs().sum().item()
        a = np.ones(3)
        b = a
        a *= n
        a += v
        of_arrays = b.tolist(), (n * np.ones(2)).tolist(), (np.arange(3) < n).tolist(), np.add(a, n).tolist()
        return of_arrays, float(np.float64(2) * v), int(n - np.int64(1)), x * (np.float32(3) > v)

    assert_same(f, (t(1, 2, -3),), (t(1, 2, 3),), (t(-1, 2, -3),))
    scaled = ag.function(lambda x: x * (np.float64(2) * x.sum().item()))
    scaled(t(1)), scaled(t(3))
    assert len(scaled.traces) == 1


def test_identity_of_booleans_and_logarithms():
    def f(x):
        n = int((x > 0).sum())
        is_many = n > 1
        kinds = is_many is True, is_many is not True, is_many is False, n is True, x.sum() is True
        return kinds, 5 if is_many is True else 6, math.log(n + 1, 2), math.log(n + 1), copy.copy(n)

    assert_same(f, (t(1, 2, -3),), (t(1, 2, 3),), (t(-1, 2, -3),))


def test_objects_that_convert_to_numbers_of_the_graph():
    class Mean:
        def __init__(self, *values):
            self.values = values

        def __float__(self):
            return sum(self.values) / len(self.values)

        def __int__(self):
            return int(self.values[0]) * 2

    def f(x):
        mean = Mean(x.sum().item(), x.max().item())
        return float(mean) + int(mean), int(Mean(3.5)), float(Mean(1, 2))

    assert_same(f, (t(1, 2),), (t(3, -5),))


def test_arithmetic_with_booleans():
    """Operators of booleans compute with integers, except for `&`, `|` and `^` of two booleans."""

    def f(x):
        flag, other, n = x.sum().item() > 0, (x[0] > 1).item(), int(x[1].item())
        signs = -flag, +flag, ~flag, flag - other, 1 - flag
        ratios = flag / 2, flag // 1, flag % 2, flag**2, 2**flag, 3 % (flag or 1), 1.5 / (flag + 1)
        bits = flag & 1, 1 & flag, flag | 2, flag ^ 1, n & flag, n | flag, flag << 2, 8 >> flag
        booleans = flag & other, flag | other, flag ^ other, flag & True, False | flag
        return signs, ratios, bits, booleans, flag < 1, 0 <= flag, flag > other, max(flag, 0), min(flag, 0.5), -flag * x

    assert_same(f, (t(1, 2, -1),), (t(2, 3, 4),), (t(-1, -2, 0),), (t(2, -5, 0),))


def test_lengths_of_ranges():
    def f(x):
        n = int(x[0].item())
        lengths = [len(range(0, 10, n)), len(range(3, -4, -n)), len(range(9, 0, n - 9)), len(range(n)), len(range(n, 4))]
        return lengths, [len(range(4, n, k)) for k in (1, 2, -1, -3)], x * len(range(-n, n, 2))

    assert_same(f, (t(2),), (t(3),), (t(1),), (t(5),))
