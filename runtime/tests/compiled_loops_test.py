"""Loops that are compiled to machine code have the same results, to the last bit, as those that the interpreter runs."""

import math

import pytest
import torch

import autograph as ag
from autograph import _runtime
from native_test import native_for_single_operators  # noqa: F401
from ops_test import quiet  # noqa: F401

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def loops_are_compiled_when_hot():
    yield
    _runtime.set_loop_compilation("hot")


def run(program, *args, compiled):
    _runtime.set_loop_compilation("always" if compiled else "never")
    before = _runtime.compiled_loops()
    result = ag.function(program)(*args)
    assert (_runtime.compiled_loops() > before) == compiled
    return result


def compare(program, *args, exact=True):
    """Compares the machine code with the interpreter and with eager Python."""
    found = run(program, *args, compiled=True)
    expected = run(program, *args, compiled=False)
    torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True)
    bounds = dict(rtol=0, atol=0) if exact else dict(rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(found, program(*args), equal_nan=True, **bounds)


FLOATS = torch.tensor([0.0, -0.0, 1.5, -2.5, math.nan, math.inf, -math.inf, 1e-40, 3e38, 0.5])
INTEGERS = torch.tensor([0, 1, -1, 7, -7, 2**40, -(2**63), 2**63 - 1, 3, -4])
BOOLS = torch.tensor([True, False, True, True, False, False, True, False, True, False])

#: The number of iterations. Shorter loops are unrolled.
MANY = torch.tensor(20)
COMPARISONS = [torch.eq, torch.ne, torch.lt, torch.le, torch.gt, torch.ge]
LOGICAL = [torch.logical_and, torch.logical_or, torch.logical_xor]
BITWISE = [torch.bitwise_and, torch.bitwise_or, torch.bitwise_xor]
ARITHMETIC = [torch.add, torch.sub, torch.mul, torch.maximum, torch.minimum]
UNARY = [torch.neg, torch.abs, torch.relu, torch.square, torch.logical_not, torch.clone]
REAL = [torch.reciprocal, torch.sqrt, torch.rsqrt, torch.floor, torch.ceil, torch.trunc, torch.round]
FUNCTIONS = {
    torch.float32: (UNARY + REAL, ARITHMETIC + [torch.div] + COMPARISONS + LOGICAL),
    torch.float64: (UNARY + REAL, ARITHMETIC + [torch.div] + COMPARISONS + LOGICAL),
    torch.int64: (UNARY + [torch.bitwise_not], ARITHMETIC + BITWISE + COMPARISONS + LOGICAL),
    torch.bool: ([torch.logical_not, torch.bitwise_not], [torch.mul, torch.eq, torch.ne] + BITWISE + LOGICAL),
}


def values(dtype):
    return (FLOATS if dtype.is_floating_point else BOOLS if dtype is torch.bool else INTEGERS).to(dtype)


def each(x, y, function, n):
    """Applies a function in each iteration to elements, which are taken in turn, and to vectors."""
    results = torch.zeros(20, 6, dtype=function(x[0], y[0]).dtype)
    for i in range(n):
        a, b = x[i % 10], y[(i * 7 + 3) % 10]
        results[i] = torch.cat([function(a, b).reshape(1), function(x[:3], y[3:6]), function(x[4:6], b)])
    return results


@pytest.mark.parametrize("dtype", FUNCTIONS, ids=str)
def test_functions_of_elements(dtype):
    unary, binary = FUNCTIONS[dtype]

    def program(x, n):
        results = []
        for function in unary:
            results.append(each(x, x, lambda a, b, function=function: function(a), n))
        for function in binary:
            results.append(each(x, x, function, n))
        return results

    # The reciprocal root of torch is rounded differently.
    compare(program, values(dtype), MANY, exact=not dtype.is_floating_point)


def test_divisions_of_integers():
    x = values(torch.int64)[:6].repeat(2)[:10]

    def program(x, y, n):
        results = [each(x, y, lambda a, b: a // b - a % b, n)]
        for divisor in (2, -2, 8, 3, -3, -1, 1, 2**40):
            results.append(each(x, x, lambda a, b, by=divisor: a // by + a % by * 3, n))
        return results

    for divisor in (2, -3, -1, 1):
        compare(program, x, torch.full((10,), divisor), MANY)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_functions_of_three_operands(dtype):
    def program(x, y, n):
        def function(a, b):
            chosen = torch.where(a > b, a, b - 1)
            return torch.add(a, b, alpha=0.3) * chosen + torch.sub(b, a, alpha=1.7) - a * b + (b - a * chosen)

        return each(x, y, function, n)

    x = torch.linspace(-3, 3, 10, dtype=dtype)
    compare(program, x, x.flip(0) * 1.7, MANY, exact=False)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32, torch.int64, torch.bool], ids=str)
def test_conversions(dtype):
    def program(x, n):
        total = torch.zeros(3)
        for i in range(n):
            a = x[i]
            total = total + torch.stack([a.float(), (a.double() * 2).float(), a.bool().float()])
            if not dtype.is_floating_point:
                total = total + a.long().int().float()
        return total

    x = torch.tensor([3, 0, -2, 5, 1]).to(dtype)
    compare(program, x.repeat(4), MANY)


def test_numbers():
    def program(x, n):
        low, high, steps, real = 0, 1 << 40, 0, 0.5
        while high - low > 1 and steps < n:
            middle = (low + high) // 2
            if middle * 3 % 7 < 3 or not middle > x:
                low = max(low, middle - 1)
            else:
                high = min(high, middle + 1)
            real = abs(-real) / 1.25 + steps * 0.5 - real * real * 0.125
            steps += 1
        return low, high, steps, real, -low, float(high)

    for x in (12, 10**9, 2**39 + 5):
        compare(program, torch.tensor(x), torch.tensor(60))


@pytest.mark.parametrize("divisor", [3, -3, 1, -1])
def test_divisions_of_numbers(divisor):
    def program(x, by, n):
        x, by, total = int(x), int(by), 0
        for i in range(-n, n):
            total = total % 1000 * 3 + (i * x) // by - (i * x) % by
        return total

    compare(program, torch.tensor(7), torch.tensor(divisor), MANY)


def test_exceptions_of_numbers():
    def program(x, by, factor, n):
        total, by, factor = int(x), int(by), int(factor)
        for i in range(n):
            total = total * factor + total // (by - i)
        return total

    x = torch.tensor(7)
    compare(program, x, torch.tensor(30), torch.tensor(2), MANY)
    for compiled in (True, False):
        with pytest.raises(ZeroDivisionError):
            run(program, x, torch.tensor(5), torch.tensor(2), MANY, compiled=compiled)
        with pytest.raises(OverflowError):
            run(program, x, torch.tensor(30), torch.tensor(2**20), MANY, compiled=compiled)


def test_a_zero_divisor_of_a_tensor():
    def program(x, n):
        total = torch.zeros((), dtype=torch.int64)
        for i in range(n):
            total = total + 100 // x[i]
        return total

    compare(program, torch.arange(1, 21), MANY)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        run(program, torch.arange(-5, 15), MANY, compiled=True)


def test_an_index_out_of_range():
    def program(x, step, n):
        total, step = x[0], int(step)
        for i in range(n):
            total = total * 0.5 + x[i * step - 3]
        return total

    x = torch.randn(18)
    compare(program, x, torch.tensor(1), MANY, exact=False)
    with pytest.raises(IndexError):
        run(program, x, torch.tensor(2), MANY, compiled=True)


def test_nested_loops_branches_and_lists():
    def program(x, n):
        rows, total, last = [x], x, 0
        for i in range(n):
            row = x * i
            k = 0
            while row.sum() < 10 and k < 7:
                if row[0] > row[1]:
                    row = row.flip(0) + k
                else:
                    row, total = total * 0.5, row + 0.25
                k += 1
            rows.append(row + k)
            if len(rows) > 3:
                last += rows.pop(0)[1]
        return total, rows[-1], last

    for start in ([0.25, -1.0], [2.0, 3.5]):
        compare(program, torch.tensor(start), torch.tensor(20), exact=False)


def test_elements_that_are_written_in_parts():
    """The values of a vector and of its elements share memory."""

    def program(x, n):
        y = x
        for i in range(n):
            y = torch.select_scatter(y, y[0] + y[3] * 0.5, 0, 1)
            y = torch.slice_scatter(y, y[1:3] - y[0], 0, 2, 4) + i
            y = y * torch.stack([y[1], y[0], y[3], y[2]]).tanh()
        return y

    compare(program, torch.tensor([0.5, -1.5, 2.0, 0.75]), MANY, exact=False)


def test_large_steps_beside_small_ones():
    def program(x, scale, n):
        for i in range(n):
            scale = scale * 0.9 + x[0, 0] * 0.01
            x = torch.tanh(x @ x * scale) + i
        return x, scale

    compare(program, torch.randn(20, 20, generator=torch.Generator().manual_seed(0)) * 0.2, torch.tensor(0.3), MANY, exact=False)


def test_hot_loops_are_compiled():
    def program(x, n):
        while x < n:
            x = x * 1.0001 + 0.001
        return x

    _runtime.set_loop_compilation("hot")
    staged, before = ag.function(program), _runtime.compiled_loops()
    staged(torch.tensor(0.0), torch.tensor(0.01))
    assert _runtime.compiled_loops() == before
    torch.testing.assert_close(staged(torch.tensor(0.0), torch.tensor(10.0)), program(torch.tensor(0.0), torch.tensor(10.0)))
    assert _runtime.compiled_loops() == before + 1
