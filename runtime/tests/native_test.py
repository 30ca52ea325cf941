"""The native tier has the same results as libtorch for every operator that it supports, for each layout, and for NaN and
infinities."""

import math
import os
import re
import subprocess
import sys

import pytest
import torch
from torch.utils import _pytree as pytree

import autograph as ag
from autograph import _runtime
from ops_test import compare, compare_non_contiguous, quiet  # noqa: F401
from oracle import assert_equal
from samples import COUNTS, name_of, operators, samples

pytestmark = pytest.mark.filterwarnings("ignore")

#: Operators of torch's table that the native tier supports, with their names in the table.
NATIVE = set(
    """abs add addcdiv addcmul all amax amin any arange argmax argmin atan atan2 bitwise_and bitwise_not bitwise_or bitwise_xor bmm cat ceil clamp clamp_max
    clamp_min clone cos cumsum div.floor_rounding div.no_rounding_mode dot eq exp expand expm1 fill flip floor floor_divide full full_like gather ge
    gt index_put index_select le lerp linalg.vector_norm log log1p log2 log_softmax logical_and logical_not logical_or logical_xor logsumexp lt masked_fill
    max.reduction_with_dim maximum mean min.reduction_with_dim minimum mm mul mv ne neg new_full new_ones new_zeros nn.functional.embedding nn.functional.gelu nn.functional.layer_norm nn.functional.relu
    ones ones_like permute pow reciprocal remainder reshape round rsqrt rsub scatter scatter_add select
    select_scatter sigmoid sin slice_scatter softmax split sqrt square squeeze stack std sub sum t tan tanh topk transpose tril triu trunc
    unsqueeze var view where zeros zeros_like""".split()
)


@pytest.fixture(autouse=True)
def native_for_single_operators():
    """Makes the native tier run all supported operators, including single ones."""
    before = _runtime.tier()
    _runtime.set_tier("always")
    yield
    _runtime.set_tier(before)


def native_listing(staged, *args):
    """Returns the listing of the plan for these arguments."""
    return staged.trace(*args).plan.listing(lambda file, line: None)


def test_every_native_operator():
    native, failures = set(), []
    for info in operators():
        name = name_of(info)
        if name not in NATIVE:
            continue
        for sample in samples(info, COUNTS | {torch.int32: 1}):
            if sample.dtype.is_complex:
                continue
            try:
                parts = compare(sample).parts
                if sample.dtype is torch.float32:
                    compare_non_contiguous(sample)
            except Exception as error:
                failures.append(f"{name} {sample.dtype}: {type(error).__name__}: {str(error)[:300]}")
                continue
            if parts and re.search(r"  native \d+ steps", native_listing(ag.function(sample.call), *sample.fresh())):
                native.add(name)
    assert not failures, "\n".join(failures)
    assert not NATIVE - native, f"these do not run natively: {sorted(NATIVE - native)}"


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool], ids=str)
def test_elements_at_indices(dtype):
    def program(x, source, rows, columns):
        first, second = rows[:2, None, None].expand(2, 5, 4), rows[None, :2, None].expand(5, 2, 4)
        found = [
            *(x[rows], x[rows, columns], x[rows.unsqueeze(1), columns]),
            # The strides of these results are not those of torch, so they cannot leave a native step.
            *(x[:, columns].sum(0), x[:, rows[:3], columns[:3]].sum(0)),
            *(x.index_select(1, columns), x.gather(1, first[:, :2]), x[-1][columns.neg()], x[rows[0]]),
            *(x.index_put([rows], source), x.index_put([rows, columns], source[:, 0]), x.index_put([rows], source[0, 0, 0])),
            *(x.scatter(0, first, source), x.scatter(1, second, 1)),
        ]
        if dtype is not torch.bool:
            found.append(x.index_put([rows, columns], source[:, 0], accumulate=True))
            found.append(x.index_add(0, rows, source).index_add(1, columns, source.transpose(0, 1)[:, :4]))
            found.append(x.scatter_add(2, columns[None, None].expand(5, 5, 4), x))
        return [y + y if y.dtype is not torch.bool else ~y for y in found]

    generator = torch.Generator().manual_seed(0)
    x, source = (torch.randint(-5, 5, (size, 5, 4), generator=generator).to(dtype) for size in (5, 4))
    args = x, source, torch.tensor([1, 0, 1, 3]), torch.tensor([2, 2, 0, 3])
    staged = ag.function(program)
    assert_equal(staged(*args), program(*args))
    assert re.search(r"native \d\d steps", native_listing(staged, *args))
    for bad in (torch.tensor([0, 0, 9, 0]), torch.tensor([-9, 0, 0, 0])):
        with pytest.raises((IndexError, RuntimeError)):
            staged(*args[:3], bad)


def test_gradients_of_reads_at_indices():
    def program(x, rows, columns, n):
        total = x.sum() * 0
        for i in range(n):
            total = total + (x[rows[i]] * x[i % 3 : i % 3 + 1, :].sum()).tanh().gather(0, columns).sum() + x[rows, columns].prod()
        return total, torch.autograd.grad(total, x)[0]

    x = torch.rand(5, 4, generator=torch.Generator().manual_seed(0)).requires_grad_()
    args = x, torch.tensor([1, 0, 1, 3]), torch.tensor([2, 2, 0, 3]), 4
    assert_equal(ag.function(program)(*args), program(*args))


def test_constants_and_rearranged_tensors():
    """In torch's table, most samples of these operators have few dimensions, or sizes of zero."""

    def program(x):
        rolled = x.roll(1, 0), x.roll((1, -2), (0, 1)), x.roll(7, -1), x.roll(0, 1)
        numbers = torch.arange(5), torch.arange(2, 10, 3), torch.arange(3.0), torch.arange(-1, -4, -1, dtype=torch.int32)
        sums = x.cumsum(0), x.cumsum(1), x.t().cumsum(1), (x > 0).long().cumsum(-1)
        return x * 2, rolled, numbers, sums, torch.eye(3), torch.eye(2, 4, dtype=torch.int64)

    x = torch.randn(3, 5)
    staged = ag.function(program)
    assert_equal(staged(x), program(x))
    listing = native_listing(staged, x)
    end = re.search(r" 0  native \d+ steps, then (\d+)", listing)[1]
    assert re.search(rf" {end}  return", listing), "one native step computes all results"


#: Arguments for checks of functions: numbers from the whole range, its ends, NaN, infinities and subnormal numbers.
NUMBERS = torch.cat([
    torch.linspace(-110, 110, 4001), torch.logspace(-44, 38, 2000), -torch.logspace(-44, 38, 2000),
    torch.tensor([0.0, -0.0, math.nan, math.inf, -math.inf, 1e-45, -1e-45, 3.4e38, -3.4e38]),
])  # fmt: skip


@pytest.mark.parametrize("name", ["exp", "tanh", "sigmoid", "log", "log1p", "expm1", "sin", "cos", "tan", "sqrt", "atan"])
def test_functions_are_rounded_almost_correctly(name):
    """The error is at most two units in the last place. The exact result is computed in float64."""
    function = getattr(torch, name)
    staged = ag.function(lambda x: function(x))
    # Native kernels compute at most 1,024 elements of these functions.
    numbers = torch.cat([NUMBERS, torch.zeros(-len(NUMBERS) % 1000)])
    found = torch.cat([staged(part) for part in numbers.split(1000)])[: len(NUMBERS)]
    assert "native" in native_listing(staged, numbers[:1000])
    exact = function(NUMBERS.double()).float()
    # Floats of one sign have the same order as their bits.
    distance = (found.view(torch.int32).long() - exact.view(torch.int32).long()).abs()
    distance[(found == exact) | (found.isnan() & exact.isnan())] = 0
    assert int(distance.max()) <= 2, (name, NUMBERS[distance.argmax()], found[distance.argmax()])


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu_and_its_derivative_are_those_of_torch(approximate):
    @ag.function
    def program(x):
        y = torch.nn.functional.gelu(x, approximate=approximate)
        return y, torch.autograd.grad(y.sum(), x)[0]

    x = torch.cat([NUMBERS, torch.linspace(-7, 7, 8000)])
    x = x[x.abs() < 1e19].requires_grad_()  # torch's derivative of larger numbers is NaN
    for found, expected in zip(program(x), program.python_function(x.detach().double().requires_grad_())):
        torch.testing.assert_close(found, expected.float(), rtol=3e-7 if approximate == "none" else 1e-5, atol=2e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_normalizations_and_sums_of_exponentials_are_those_of_torch(dtype):
    @ag.function
    def program(x, index, weight):
        picked = x.gather(1, index), x.gather(-1, index), x.t().gather(0, index.t())
        sums = x.logsumexp(1), x.logsumexp(0, keepdim=True), x.logsumexp((0, 1)), torch.stack([x, x + 1, x]).logsumexp(0)
        normal = torch.nn.functional.layer_norm(x, x.shape[1:], weight, weight), torch.nn.functional.layer_norm(x, x.shape)
        return picked, sums, normal

    generator = torch.Generator().manual_seed(0)
    x, index = torch.randn(5, 7, generator=generator, dtype=dtype), torch.randint(7, (5, 7), generator=generator)
    rows = torch.full((5, 7), -math.inf, dtype=dtype), torch.full((5, 7), math.inf, dtype=dtype)
    for each in (x, 100 * x, torch.cat([x[:3], rows[0][:2]]), torch.cat([x[:3], rows[1][:2]]), x.masked_fill(x > 1, math.nan)):
        torch.testing.assert_close(
            program(each, index, x[0]), program.python_function(each, index, x[0]), equal_nan=True, rtol=1e-5, atol=1e-5
        )
    assert " 0  native" in native_listing(program, x, index, x[0])


def test_indices_out_of_range_raise_the_error_of_torch():
    staged = ag.function(lambda x, index: x.gather(1, index) * 2)
    x = torch.arange(6.0).view(2, 3)
    assert staged(x, torch.tensor([[2], [0]])).tolist() == [[4.0], [6.0]]
    for index in (3, -1):
        with pytest.raises(RuntimeError, match="out of bounds"):
            staged(x, torch.tensor([[index], [0]]))


def test_integers_wrap_and_divide_as_in_torch():
    def program(a, b):
        return a + b, a * b, a // b, a % b, -a, abs(a)

    staged = ag.function(program)
    ends = torch.iinfo(torch.int64)
    a = torch.tensor([7, -7, 7, -7, ends.max, ends.min, 0])
    b = torch.tensor([2, 2, -2, -2, 3, 5, 9])
    assert_equal(staged(a, b), program(a, b))


def test_division_by_zero_is_the_error_of_torch():
    staged = ag.function(lambda a, b: (a + 1) // b)
    assert staged(torch.tensor([4]), torch.tensor([2])).tolist() == [2]
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        staged(torch.tensor([4]), torch.tensor([0]))


def test_an_index_that_is_out_of_range_is_the_error_of_torch():
    def program(x, n):
        total = torch.zeros(())
        i = 0
        while n > i:
            total = total + x[i]
            i = i + 1
        return total

    staged = ag.function(program)
    assert staged(torch.ones(3), torch.tensor(3)) == 3
    with pytest.raises(IndexError):
        staged(torch.ones(3), torch.tensor(4))


def test_loops_on_scalars_are_one_step():
    def collatz(n):
        steps = torch.tensor(0)
        while n != 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            steps = steps + 1
        return steps

    staged = ag.function(collatz)
    assert staged(torch.tensor(27)) == 111
    native, to = re.search(r"0  native (\d+) steps.*?, then (\d+)", native_listing(staged, torch.tensor(27))).groups()
    assert int(native) > 10 and f"\n   {to}  return" in native_listing(staged, torch.tensor(27))


def test_lists_that_a_loop_fills():
    def program(x, n):
        states = []
        for i in range(n):
            x = torch.tanh(x * 0.5 + i)
            states.append(x)
        return torch.stack(states)

    def staged_with_gradient(x, n):
        y = program(x, n)
        return y, torch.autograd.grad(y.square().sum(), x)[0]

    x = torch.linspace(-1, 1, 5, requires_grad=True)
    torch.testing.assert_close(ag.function(program)(x, 40), program(x, 40))
    torch.testing.assert_close(ag.function(staged_with_gradient)(x, 40), staged_with_gradient(x, 40))


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_a_training_step(reduction):
    def program(x, target, w, b):
        hidden = torch.relu(torch.addmm(b, x, w))
        loss = torch.nn.functional.cross_entropy(hidden, target, reduction=reduction, ignore_index=2)
        loss = loss + torch.nn.functional.softplus(hidden).mean()
        return loss, torch.autograd.grad(loss, (w, b))

    w, b = torch.randn(3, 4, requires_grad=True), torch.randn(4, requires_grad=True)
    x, target = torch.randn(5, 3), torch.tensor([0, 1, 2, 3, 0])
    staged = ag.function(program)
    torch.testing.assert_close(staged(x, target, w, b), program(x, target, w, b))
    with pytest.raises(IndexError):
        staged(x, target + 4, w, b)


def test_values_that_share_memory_still_share_it():
    def program(x):
        y = x * 2
        return y, y.t(), y[0], x.t()

    staged = ag.function(program)
    x = torch.arange(6.0).view(2, 3)
    found, expected = staged(x), program(x)
    assert_equal(found, expected)
    assert [one.stride() for one in found] == [one.stride() for one in expected]
    for one in found, expected:
        one[0].add_(1)
    assert_equal(found, expected)
    x.add_(1)
    assert_equal(found[3], expected[3])


@pytest.mark.parametrize("bounds", [(0.0, None), (-1.0, 1.0)])
def test_a_mask_and_a_loop_do_not_share_memory(bounds):
    """The backward pass of `clamp` reads a mask, and writes a tensor that the loop carries. The elements of the mask
    are smaller, so its memory is too small for the tensor."""

    def f(x, n):
        for _ in range(n):
            x = x + 0.1
        return x.clamp(*bounds).sum()

    x = torch.tensor([0.1, 1.4, -0.9], dtype=torch.float64, requires_grad=True)
    results = [torch.autograd.grad(g(x, torch.tensor(3)), x) for g in (ag.function(f), f)]
    assert_equal(*results)


def test_layouts_are_those_of_torch():
    def program(x, y):
        return x.t().clone(), x.t().contiguous(), x.t() * 2, x.t() + y, y + x.t(), torch.tanh(x).t().exp(), (x.t() > 0).float(), (
            x.t().roll(1, 0), x.t().flip(1), x.t().tril(), x.t().cumsum(0), torch.full_like(x.t(), 2).fill_(3)
        )

    x, y = torch.randn(3, 4), torch.randn(4, 3)
    found, expected = ag.function(program)(x, y), program(x, y)
    assert_equal(found, expected)
    assert strides(found) == strides(expected)
    staged = ag.function(program)
    staged(x, y)
    assert strides(staged(x.t().contiguous().t(), y)) == strides(program(x.t().contiguous().t(), y))


def strides(results):
    return [tensor.stride() for tensor in pytree.tree_leaves(results)]


def test_deterministic_kernels_equal_those_of_torch_to_the_last_bit():
    def program(x, w):
        for _ in range(3):
            x = torch.tanh(x @ w).softmax(1)
        return x

    staged = ag.function(program)
    x, w = torch.randn(5, 7), torch.randn(7, 7)
    staged(x, w)
    ag.use_deterministic_kernels()
    assert ag.deterministic_kernels_used()
    assert torch.equal(staged(x, w), program(x, w))
    ag.use_deterministic_kernels(False)
    torch.testing.assert_close(staged(x, w), program(x, w))


@ag.function
def selections(x):
    values, indices = torch.topk(x, 3)
    return values * 2, indices, torch.topk(x, 2, largest=False), x.max(-1), x.min(-1), x.argmax(), x.argmin(-1)


def rows(*numbers):
    return torch.tensor([numbers, numbers[::-1]])


@pytest.mark.parametrize("x", [
    torch.randn(3, 20_000, generator=torch.Generator().manual_seed(0)),
    torch.arange(200).roll(77).view(2, 100),
    rows(3.0, 1.0, 2.0),
    # Tensors with equal elements, whose order torch does not define. In the first one, no equal element is selected; in
    # the next ones, some are.
    rows(1.0, 1.0, 2.0, 3.0, 4.0, 0.5, 0.25), rows(4.0, 4.0, 1.0, 2.0, 3.0), rows(0.0, -0.0, 1.0, -0.0),
    rows(1.0, math.nan, 2.0, 3.0, 4.0), rows(math.nan, math.nan, 1.0, 0.0), rows(-math.inf, math.inf, 1.0, 2.0),
    torch.cat([torch.zeros(1, 70), torch.full((1, 1), math.nan), torch.arange(5.0).view(1, 5)], 1),
], ids=lambda x: str(tuple(x.shape)))  # fmt: skip
def test_selected_elements_are_those_of_torch(x):
    found, expected = pytree.tree_leaves(selections(x)), pytree.tree_leaves(selections.python_function(x))
    for found, expected in zip(found, expected, strict=True):
        assert torch.equal(torch.nan_to_num(found), torch.nan_to_num(expected))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32, torch.int64], ids=str)
@pytest.mark.parametrize("shape", [(4, 7), (3, 20, 20), (2, 3, 5, 33), (6, 1, 16), (1, 9, 1)])
def test_extreme_elements_along_any_dimension_are_those_of_torch(dtype, shape):
    @ag.function
    def extremes(x):
        dims = range(-x.dim(), 0)
        return [(x.max(dim), x.min(dim, keepdim=True), x.argmax(dim), x.argmin(dim)) for dim in dims]

    x = torch.randint(-3, 3, shape, generator=torch.Generator().manual_seed(0)).to(dtype)
    others = [x.transpose(0, -1)]
    if dtype.is_floating_point:
        others += [x.masked_fill(x == 2, math.nan), x.masked_fill(x == 2, math.inf), torch.full_like(x, -math.inf)]
    for each in [x, *others]:
        for found, expected in zip(pytree.tree_leaves(extremes(each)), pytree.tree_leaves(extremes.python_function(each))):
            assert torch.equal(torch.nan_to_num(found), torch.nan_to_num(expected))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32, torch.int64], ids=str)
@pytest.mark.parametrize("count", [1, 2, 3, 5, 10, 15, 32])
def test_equal_elements_are_selected_in_the_order_of_torch(dtype, count):
    generator = torch.Generator().manual_seed(count)
    staged = ag.function(lambda x: (torch.topk(x, count), torch.topk(x, count, largest=False)))
    for columns in (64 * count, 2100, 2500):
        for different in (1, 2, 7, 100):
            x = torch.randint(-different, different, (3, columns), generator=generator).to(dtype)
            for found, expected in zip(pytree.tree_leaves(staged(x)), pytree.tree_leaves(staged.python_function(x))):
                assert torch.equal(found, expected), (columns, different)


def test_integers_of_32_bits():
    @ag.function
    def program(x, y, n: int):
        inside = (x > n) & (x.to(torch.int64) < 7) | (x == y)
        return inside, x * n + y, torch.where(inside, x, y).to(torch.float32) / 2, x.sum(), -x // 3, (x + (2**31 - 1))[0]

    x, y = torch.arange(-4, 12, dtype=torch.int32), torch.full((16,), 3, dtype=torch.int32)
    for n in (2, -1, 2**31 - 1, 2**31, -(2**40)):
        for found, expected in zip(program(x, y, n), program.python_function(x, y, n), strict=True):
            assert found.dtype == expected.dtype and torch.equal(found, expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32, torch.int64], ids=str)
def test_sums_with_alpha_are_rounded_as_in_torch(dtype):
    alpha = 0.3 if dtype.is_floating_point else -3
    staged = ag.function(lambda x, y: (torch.add(x, y, alpha=alpha), torch.sub(x, y, alpha=alpha), x.add(2, alpha=alpha) + y))
    for count in (1, 5, 64, 1001):
        x, y = ((torch.randn(count) * 10).to(dtype) for _ in range(2))
        for found, expected in zip(staged(x, y), staged.python_function(x, y)):
            assert torch.equal(found, expected)


def test_a_scaled_sum_is_not_fused_with_a_product():
    @ag.function
    def program(x, total, n: int):
        for _ in range(n):
            total = torch.add(total, x.t() @ x, alpha=0.5)
            x = torch.sub(x, x * 0.25, alpha=2.0)
        return x, total

    args = torch.randn(5, 12), torch.randn(12, 12), torch.tensor(4)
    torch.testing.assert_close(program(*args), program.python_function(*args))


def test_threads_decide_which_tensors_are_large():
    """With one thread, native kernels also run large tensors, because libtorch is not faster."""
    x, w = torch.randn(200, 200), torch.randn(200, 200)
    before = torch.get_num_threads()
    try:
        for threads, is_native in [(1, True), (4, False)]:
            torch.set_num_threads(threads)
            staged = ag.function(lambda x, w: torch.tanh(x * w) * 2)
            torch.testing.assert_close(staged(x, w), staged.python_function(x, w))
            assert ("0  native" in native_listing(staged, x, w)) == is_native
    finally:
        torch.set_num_threads(before)


@ag.function
def lookups(table, indices):
    return table[indices] * 2, torch.nn.functional.embedding(indices.abs(), table), table.index_select(0, indices.abs())


def test_indices_may_be_negative_but_not_out_of_range():
    table = torch.randn(1000, 7)
    for indices in (torch.tensor([3, -1, 999, 0]), torch.tensor([-1000])[:0], torch.tensor([[5, 6], [-7, 8]])[0]):
        for found, expected in zip(lookups(table, indices), lookups.python_function(table, indices)):
            assert torch.equal(found, expected)
    for wrong in (1000, -1001):
        with pytest.raises(IndexError, match="out of range|out of bounds"):
            lookups(table, torch.tensor([0, wrong]))


@pytest.mark.parametrize("rows", [1, 2, 5, 6, 7, 8, 9, 12, 13, 16, 17, 23, 30, 100, 200])
def test_products_in_tiles(rows):
    """The error is within the bound for a sum in any order. This includes sizes at which the last vector of columns is
    masked, the rows of the right operand are a page apart, or the right operand has more rows than a panel."""
    staged = ag.function(lambda bias, a, b: (torch.addmm(bias, a, b), a @ b + 1.0))
    left = ag.function(lambda bias, a, b: (torch.addmm(bias, a.t(), b), a.t() @ b + 1.0))
    right = ag.function(lambda bias, a, b: (torch.addmm(bias, a, b.t()), a @ b.t() + 1.0))
    sizes = [(1, 9), (3, 10), (40, 15), (40, 16), (129, 17), (7, 31), (200, 32), (60, 33), (300, 100), (20, 1030), (600, 47)]
    for inner, columns in sizes:
        bias, a, b = torch.randn(columns), torch.randn(rows, inner), torch.randn(inner, columns)
        exact = a.double() @ b.double()
        bound = inner * 2.0**-23 * (a.double().abs() @ b.double().abs()) + 1e-6
        found = *staged(bias, a, b), *left(bias, a.t().contiguous(), b), *right(bias, a, b.t().contiguous())
        for found, added in zip(found, (bias, 1.0) * 3):
            assert ((found - (exact + added)).abs() <= bound + 1e-6).all(), (inner, columns)


#: Compares kernels that have their own code for each instruction set, for sizes around those of vectors.
INSTRUCTIONS = """
import torch, autograph as ag
def program(a, b, c, w):
    x = torch.tanh(a * 0.3 - b) + torch.sigmoid(a) * torch.where(a > b, a, b) - torch.exp(-a.abs())
    y = torch.softmax(x @ w, -1) - torch.log_softmax(a.t(), -1).t()
    return x, y, x.sum(0), x.sum(1), y.norm(), x.t() @ y, x @ y.t(), c // 3 * c, (c > 2) & (c < 9), a.double() * b.double()
for rows in (1, 3, 4, 5, 17):
    for columns in (2, 4, 7, 8, 9, 15, 16, 17, 31, 33, 48):
        a, b, w = torch.randn(rows, columns), torch.randn(rows, columns), torch.randn(columns, columns)
        args = a, b, torch.arange(rows * columns).view(rows, columns), w
        for found, expected in zip(ag.function(program)(*args), program(*args), strict=True):
            torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
"""


@pytest.mark.parametrize("instructions", ["portable", "avx2", "avx512"])
def test_every_instruction_set(instructions):
    environment = os.environ | {"AUTOGRAPH_INSTRUCTIONS": instructions, "AUTOGRAPH_NATIVE": "always"}
    subprocess.run([sys.executable, "-c", INSTRUCTIONS], env=environment, check=True)


def test_inputs_that_are_not_contiguous_run_natively():
    """The strides of the first call are those of the native program. Libtorch rounds some of these functions differently."""

    def f(x, y):
        return (x.exp() * y).tanh() + (x - y).sigmoid()

    torch.manual_seed(0)
    x, y = torch.randn(13, 7).t(), torch.randn(7, 13)
    assert x.stride() == (1, 7)
    assert torch.equal(ag.function(f)(x, y), ag.function(f)(x.contiguous(), y))
