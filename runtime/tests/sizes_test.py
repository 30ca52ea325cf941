"""Dimensions that are only known when the graph runs: tensors that grow in a loop, ranges, and assumptions about sizes."""

import sys
import warnings

import pytest
import torch
from oracle import assert_same, t

import autograph as ag

TABLE = torch.linspace(-1, 1, 160).reshape(20, 8)


def _next(hidden):
    return hidden[:, -1].argmax(-1, keepdim=True)


def _attention(ids):
    batch, length = ids.shape
    hidden = TABLE[ids] + TABLE[torch.arange(length)].cos()
    heads = hidden.view(batch, length, 2, 4).transpose(1, 2)
    mask = torch.full((length, length), -1e9).triu(1)
    mixed = torch.softmax(heads @ heads.transpose(-1, -2) + mask, -1) @ heads
    return mixed.transpose(1, 2).reshape(batch, length, 8)


def _masked_attention(ids):
    batch, length = ids.shape
    mask = torch.tril(torch.ones(20, 20, dtype=torch.bool))[None, None, :length, :length]
    heads = TABLE[ids].view(batch, length, 2, 4).transpose(1, 2)
    mixed = torch.nn.functional.scaled_dot_product_attention(heads, heads, heads, attn_mask=mask)
    return mixed.transpose(1, 2).reshape(batch, length, 8)


@pytest.mark.parametrize("model", [_attention, _masked_attention])
def test_a_sequence_grows_in_a_loop(model):
    def decode(ids, count):
        while count > 0:
            ids = torch.cat([ids, _next(model(ids))], dim=1)
            count = count - 1
        return ids

    ids = torch.tensor([[3, 1, 4, 1, 5], [2, 7, 1, 8, 2]])
    assert_same(decode, (ids, torch.tensor(4)), (ids, torch.tensor(2)), (ids[:, :3], torch.tensor(5)))


def test_a_cache_grows_in_a_loop():
    def decode(ids, count):
        keys = torch.zeros(2, 0, 8)
        while count > 0:
            hidden = TABLE[ids[:, -1:]]
            keys = torch.cat([keys, hidden], 1)
            mixed = torch.softmax(hidden @ keys.transpose(1, 2), -1) @ keys
            ids = torch.cat([ids, _next(mixed)], 1)
            count = count - 1
        return ids, keys

    ids = torch.tensor([[3, 1, 4], [2, 7, 1]])
    assert_same(decode, (ids, torch.tensor(4)), (ids, torch.tensor(1)), (ids[:, :2], torch.tensor(5)))


def test_the_size_of_a_range_is_that_of_a_staged_number():
    def f(x, n):
        count = n.item()
        return x[:, :count] + torch.arange(count), torch.arange(1, count + 1), torch.arange(0, count * 0.5)

    x = torch.ones(2, 9)
    assert_same(f, (x, torch.tensor(5)), (x, torch.tensor(7)), (x, torch.tensor(2)))


def test_two_selections_are_assumed_to_have_equal_sizes():
    def f(x):
        positive = x > 0
        return x[positive] + (2 * x)[positive.clone()]

    assert_same(f, (t(1, -1, 2),), (t(1, 2, -3, 4),), (t(1, 1, 1, 1),))


def test_a_wrong_assumption_is_an_error_when_the_graph_runs():
    @ag.function
    def f(x, y):
        return torch.nn.functional.pad(x[x > 0] * y[y > 0], (1, 1)).sum()

    assert f(t(1, 2, -1), t(3, 4, -1)) == 11
    with pytest.raises((AssertionError, RuntimeError)):
        f(t(1, 2, -1), t(3, 4, 5))


def _calls_to_trace(make, depth):
    """Counts the Python calls while a function is traced, as a measure of the work."""
    count = 0

    def profile(frame, event, arg):
        nonlocal count
        count += event == "call"
        assert count < 3_000_000

    staged = ag.function(make(depth))
    sys.setprofile(profile)
    try:
        staged.graph(t(1, 2, -1))
    finally:
        sys.setprofile(None)
    return count


def _nested_conditions(depth):
    def f(x):
        y = x[x > 0]
        n = y.shape[0]
        is_long = n > 3
        for i in range(depth):
            if is_long:
                y, is_long = torch.cat([y, y]), n > i
            else:
                y, is_long = y[:1], not is_long or n < i
        return y

    return f


def _nested_sizes(depth):
    def f(x):
        n = x[x > 0].shape[0]
        for i in range(depth):
            n = n * n % 7 + n
            x = x + (n > i)
        return x, torch.zeros(n)

    return f


@pytest.mark.parametrize("make", [_nested_conditions, _nested_sizes])
def test_the_cost_of_nested_conditions_is_not_exponential(make):
    depths = (8, 16, 24)
    for depth in depths:
        _calls_to_trace(make, depth)  # fills the caches of torch and sympy, which depend on the depth
    shallow, middle, deep = (_calls_to_trace(make, depth) for depth in depths)
    assert deep < 4 * max(shallow, middle)
    function = make(6)
    assert_same(function, (t(1, 2, -1),), (t(1, 2, 3, 4, 5, -1),), (t(1),))


def test_numbers_that_torch_computes_from_sizes(recwarn):
    """`interpolate` divides sizes, and multiplies a size by a number of the graph."""
    interpolate = torch.nn.functional.interpolate

    @ag.function
    def resized(x, mask, n):
        y = x[mask][None, None]
        scale = 6 / y.shape[-1]
        linear = interpolate(y, scale_factor=scale, mode="linear", recompute_scale_factor=True)
        factor = 30 / int(n)
        image = interpolate(x[None, None, None], scale_factor=(1.0, factor), mode="bilinear", recompute_scale_factor=True)
        return linear, image, interpolate(y, size=5, mode="linear"), interpolate(y, size=2 * y.shape[-1])

    for k in range(4):
        x = torch.arange(8.0)
        args = x, x > k, torch.tensor(10 + k)
        torch.testing.assert_close(resized(*args), resized.python_function(*args))
    assert not resized.fallbacks and len(resized.traces) == 1


def test_errors_of_shape_functions_are_not_logged(capfd):
    @ag.function
    def f(x, mask):
        return x[mask] @ torch.ones(3, 2)

    with pytest.raises(RuntimeError):
        f(torch.ones(4, 5), torch.ones(4) > 0)
    assert "failed while attempting" not in capfd.readouterr().err


@pytest.mark.parametrize("dimensions, mode", [(1, "linear"), (2, "bilinear"), (3, "trilinear"), (2, "bicubic")])
def test_interpolation_calls_the_kernel_of_torch(dimensions, mode):
    weight = torch.randn(1, 2, *(3, 4, 5)[:dimensions], requires_grad=True)

    def resized(x, count):
        y = x * weight
        size = count.item()
        with torch.no_grad():
            free = torch.nn.functional.interpolate(y, size=(size,) * dimensions, mode=mode)
        fixed = torch.nn.functional.interpolate(y, scale_factor=1.5, mode=mode, align_corners=True)
        return free, fixed + torch.nn.functional.interpolate(y, size=fixed.shape[2:], mode=mode)

    staged = ag.function(resized)
    for count in (3, 5, 8):
        args = torch.randn(()), torch.tensor(count)
        results = []
        for function in (staged, resized):
            weight.grad = None
            free, fixed = function(*args)
            fixed.sin().sum().backward()
            results.append((free, fixed.detach(), weight.grad))
        torch.testing.assert_close(*results)
    assert staged.graph(*args).count(f"aten.upsample_{mode}") == 3


def test_interpolation_of_an_unknown_size_with_a_gradient():
    weight = torch.randn(8, 4, requires_grad=True)

    def f(x, mask):
        y = (x @ weight)[mask][None, None]
        return torch.nn.functional.interpolate(y, size=(5, 6), mode="bilinear").sin().sum()

    staged = ag.function(f)
    for k in range(3):
        x, mask = torch.randn(6, 8), torch.arange(6) > k
        results = []
        for function in (staged, f):
            weight.grad = None
            y = function(x, mask)
            y.backward()
            results.append((y.detach(), weight.grad))
        torch.testing.assert_close(*results)
    assert len(staged.traces) == 1 and not staged.fallbacks


def test_slices_with_bounds_that_only_a_run_knows():
    def parts(x, start, end):
        y = torch.zeros(6, 8)
        y[start:end, start : end + 1] = x[start:end, start : end + 1]
        y[start:end] += 1
        return x[start:end].sum(0), x[:, end:].shape[1], x[start:end, ::2] * 2, x[-start:], x[start:end].t().contiguous(), y

    bounds = (1, 3), (0, 2), (2, 2), (1, 9), (3, 1)
    x = torch.arange(24.0).reshape(4, 6)
    assert_same(parts, *((x, torch.tensor(first), torch.tensor(last)) for first, last in bounds))


def test_the_gradient_of_a_slice_with_bounds_that_only_a_run_knows():
    def f(x, start, end):
        x = x.clone().requires_grad_()
        (x[start:end] ** 2).sum().backward()
        return x.grad

    assert_same(f, *((torch.arange(6.0), torch.tensor(first), torch.tensor(last)) for first, last in ((1, 3), (2, 2), (4, 9))))


def test_sizes_that_contradict_several_assumptions():
    """Tracing assumes that unknown sizes are odd, but these are even. A single run of the graph recorded so far finds the
    sizes of all dimensions."""

    def halved(x, *sizes):
        x = torch.nn.functional.interpolate(x, size=[int(size) for size in sizes])
        found = []
        for size in x.shape[1:]:
            found.append(1 if size % 2 == 1 else 2)
        return x[..., ::2].sum(0), found

    sizes = torch.tensor(6), torch.tensor(10)
    assert_same(halved, (torch.arange(48.0).reshape(2, 2, 3, 4), *sizes), (torch.ones(2, 2, 3, 4), *sizes))


def test_a_slice_of_one_element_has_a_known_size():
    @ag.function
    def program(x, n, start):
        y = torch.zeros(3, 8, 2)
        total, t = torch.zeros(3), int(start)
        while t < n and total.sum() < 1e6:
            y[:, t : t + 1] = (x * (t + 2))[:, :1].unsqueeze(1)
            total = total + x[:, t : t + 1].sum(1) + y[:, t : 1 + t].sum((1, 2))
            t += 1
        return y, total

    x = torch.rand(3, 8)
    for n, start in ((2, 0), (8, 3)):
        torch.testing.assert_close(program(x, t(n), t(start)), program.python_function(x, t(n), t(start)))
    assert "?" not in str(program.graph(x, t(2), t(0)))
    for n, start in ((12, 0), (2, -2), (8, 0)):  # some of these elements do not exist
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ag.FallbackWarning)
            torch.testing.assert_close(program(x, t(n), t(start)), program.python_function(x, t(n), t(start)))
