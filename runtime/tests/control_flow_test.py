"""Staged conditions and loops have the same results as in eager torch."""

import math

import pytest
import torch

import autograph as ag
from oracle import assert_equal, assert_same, refusal, t


def test_both_branches():
    def clip(x, limit):
        if x.sum() > limit:
            y = x * 0 + limit
        else:
            y = x
        return y

    assert_same(clip, (t(1, 2), t(10.0)[0]), (t(5, 8), t(10.0)[0]))


def test_early_return():
    def f(x):
        if x.sum() > 0:
            return x + 1
        if x[0] < -5:
            return x - 1
        return x * 2

    assert_same(f, (t(1, 2),), (t(-9, 2),), (t(-1, -2),))


def test_number_in_one_branch():
    def f(x):
        k = 1
        if x.sum() > 0:
            k = 2.5
        return x * k

    assert_same(f, (t(1, 2),), (t(-1, 0),))


def test_nested():
    def f(x):
        if x[0] > 0:
            if x[1] > 0:
                y = x + 1
            else:
                y = x + 2
            z = y * 2
        else:
            y = x - 1
            z = x
        return y, z

    assert_same(f, (t(1, 1),), (t(1, -1),), (t(-1, 1),))


def test_ternary_and_logic():
    def f(x, y):
        a = x if x.sum() > y.sum() else y if y[0] > 0 else -y
        b = 1 if x[0] > 0 and y[0] > 0 or not x[1] > 0 else 0
        return a, b, 0 < x[0] < y[0]

    for x in (t(1, 2), t(-1, 3), t(-4, -5)):
        for y in (t(3, 4), t(-3, 1)):
            assert_same(lambda p, q: tuple(map(_plain, f(p, q))), (x, y))


def _plain(value):
    return value if isinstance(value, torch.Tensor) else torch.tensor(value)


def test_while():
    def collatz(n):
        steps = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        return n, steps

    assert_same(collatz, *[(torch.tensor(n),) for n in (1, 6, 7, 27)])


def test_while_true_with_staged_break():
    def f(x):
        n = 0
        while True:
            x = x * 1.5
            n += 1
            if x.sum() > 100:
                break
        return x, n

    assert_same(f, (t(1, 2),), (t(60, 50),))


def test_break_continue_return_in_loop():
    def f(x, k):
        total = torch.zeros(())
        for i in range(k):
            if x[i] < 0:
                continue
            if x[i] > 100:
                break
            if x[i] == 50:
                return total - 1
            total = total + x[i]
        else:
            total = total + 1000
        return total

    k = torch.tensor(4)
    assert_same(f, (t(1, -2, 3, 4), k), (t(1, 200, 3, 4), k), (t(1, -1, 50, 4), k))


def test_return_or_none():
    def first_negative(x, k):
        for i in range(k):
            if x[i] < 0:
                return x[i]

    assert_same(first_negative, (t(1, -2, 3), torch.tensor(3)), (t(1, 2, 3), torch.tensor(3)))


def test_range_with_bounds():
    def f(n):
        total = 0
        for i in range(n, 1, -2):
            total += i
        return total

    assert_same(f, (torch.tensor(9),), (torch.tensor(0),))


def test_loop_variable_after_loop():
    def f(x, n):
        for i in range(n):
            y = x * i
        return i, y

    assert_same(f, (t(1, 2), torch.tensor(3)), (t(1, 2), torch.tensor(0)))


def test_bound_on_one_branch():
    def f(x):
        if x[0] > 0:
            y = x * 2
        if x[1] > 0:
            return y
        return x

    assert_same(f, (t(1, 1),), (t(-1, -1),), (t(-1, 1),))


def test_python_loop_with_staged_break():
    def f(x):
        for k in [1, 2, 3]:
            x = x * k
            if x.sum() > 3:
                break
        return x, k

    assert_same(f, (t(1, 2),), (t(0.5, 0.5),), (t(1, 0.5),))


def test_long_python_range_is_one_loop():
    def f(x):
        for i in range(100):
            x = x * 0.9 + i
        return x

    staged = assert_same(f, (t(1, 2),))
    assert staged.graph(t(1, 2)).count("aten.mul") == 1


def test_in_place_in_loop():
    def f(x, n):
        row = x[0]
        for i in range(n):
            x[1] += i
            x += 1
        return x, row

    assert_same(f, (torch.zeros(2, 3), torch.tensor(4)))


def test_in_place_in_branch():
    def f(x):
        view = x[0]
        if x.sum() > 0:
            view.add_(1)
        else:
            x[1] = 7
        return view + 0

    assert_same(f, (torch.ones(2, 2),), (-torch.ones(2, 2),))


def test_raise_on_condition():
    def f(x):
        if x.sum() < 0:
            raise ValueError("negative")
        return x + 1

    assert_same(f, (t(1, 2),), (t(-1, -2),))


def test_assert():
    def f(x):
        assert x.sum() > 0, "not positive"
        return x

    assert_same(f, (t(1, 2),), (t(-1, -2),))


def test_builtins():
    def f(x, n):
        k = int(n)
        return (
            max(k, 3), min(k, 3), abs(k - 10), float(k), max(x[0], x[1]), sum(x), len(x), any(x > 2), all(x > 0),
            sorted(x), k // 2, k % 3, k / 2, -k, k**2, bool(x.any()), k == 4,
        )  # fmt: skip

    assert_same(lambda x, n: tuple(map(_plain, f(x, n))), (t(3, 1, 2), torch.tensor(4)), (t(-1, 0, 2), torch.tensor(2)))


def test_print(capfd):
    def f(x):
        print("sum", x.sum().item())
        return x

    assert_same(f, (t(1, 2),))
    lines = capfd.readouterr().out.splitlines()
    assert lines == ["sum 3.0", "sum 3.0"]


def test_print_as_python_does(capsys):
    def f(x):
        print("sum", x.sum(), sep="=", end=";")
        print([x[0]], {"k": x[1]}, (x,), str(x.sum()), f"{x.sum()} {x.sum()!r}")
        return x

    assert_same(f, (t(1, 2),))
    eager, staged = capsys.readouterr().out.splitlines()
    assert eager == staged


def test_incompatible_branch_types_are_named():
    def f(x):
        ag.py_function(int, [], int)  # conditions after a call of Python cannot be decided while tracing
        y = x
        while x.sum() < 9:
            if x.sum() > 0:
                y = x
            else:
                y = x.reshape(1, 2)
            x = x + y.sum()
        return x

    with pytest.raises(ag.StagingError, match=r"`y` .*shape \[2\].*shape \[1, 2\]"):
        ag.function(f)(t(1, 2))


def test_sum_from_a_python_zero():
    def f(x, n):
        total = 0
        for i in range(n):
            total = total + x[i]
        return total

    assert_same(f, (torch.arange(6.0).reshape(3, 2), torch.tensor(3)))


def test_closures():
    def f(x, n):
        scale = 1.0

        def scaled(v):
            return v * scale

        for i in range(n):
            scale = scale + i
            x = scaled(x)
        return x

    assert_same(f, (t(1, 2), torch.tensor(4)))


def test_recursion_in_python():
    def power(x, k):
        return x if k == 0 else x * power(x, k - 1)

    def f(x):
        return power(x, 3)

    assert_same(f, (t(1, 2),))


def test_state_of_an_object():
    class Counter:
        def __init__(self):
            self.n = 0

    def f(x, n):
        c = Counter()
        for i in range(n):
            if x[i] > 0:
                c.n += 1
        return c.n

    assert_same(f, (t(1, -2, 3), torch.tensor(3)))


def test_dictionary_state():
    def f(x, n):
        d = {"a": x, "b": 0}
        for i in range(n):
            d["a"] = d["a"] + 1
            d["b"] += 2
        return d

    assert_same(f, (t(1, 2), torch.tensor(3)))


def test_a_view_that_an_abandoned_attempt_to_stage_a_loop_has_read():
    """The trace evaluates the condition of a `while` twice, and tries to stage the `for` before it unrolls it. The nodes of the
    first attempt are removed, so values that they have computed for the views must not be used again."""

    def condition(x, n):
        y = x * 2
        view = y[:2]
        y.mul_(0.5)
        while view.sum() < n:
            x = x + view.sum()
            n = n - 2
        return x, y, view

    def unrolled(x, n):
        y = x * 2
        view = y[:2]
        view.mul_(0.5)
        found = {"x": x}
        for _ in range(n):
            y, view = view, y
            found = {"y": y}
        return found, y, view

    assert_same(condition, (t(1, 2, 3), t(2)), (t(1, 2, 3), t(8)))
    assert_same(unrolled, (t(1, 2, 3), torch.tensor(3)), (t(1, 2, 3), torch.tensor(2)))


def test_method_that_changes_its_object_in_a_loop():
    class Counter:
        def __init__(self):
            self.n = 0
            self.seen = []

        def add(self, x):
            self.n += 1
            self.last = x
            self.seen.append(x)

    def f(x, n):
        c = Counter()
        for i in range(n):
            c.add(x[i])
            if x[i] > 1:
                c.add(x[i] * 2)
        return c.n, c.last, torch.stack(c.seen)

    assert_same(f, (t(1, 2, 3), torch.tensor(3)))


def test_nonlocal_in_a_function_called_in_a_loop():
    def f(x, n):
        total = x * 0

        def add(v):
            nonlocal total
            total = total + v

        for i in range(n):
            if x[0] > 0:
                add(x * i)
        return total

    assert_same(f, (t(1, 2, 3), torch.tensor(3)), (t(-1, 2, 3), torch.tensor(3)))


def test_none_before_the_loop():
    def best(x, n):
        best = None
        for i in range(n):
            if best is None or x[i] > best:
                best = x[i]
        return best

    staged = assert_same(best, (t(1, 3, 2), torch.tensor(3)), (t(4, 3, 2), torch.tensor(1)))
    assert staged(t(1, 2, 3), torch.tensor(0)) is None
    (reason,) = staged.fallbacks
    assert "the loop has a first iteration: `best`" in reason
    assert_equal(staged(t(1, 3, 2), torch.tensor(3)), t(3)[0])


def test_no_iteration_after_an_effect():
    """Python runs the call without repeating the output."""

    def f(x, n):
        print("sum", x.sum())
        last = None
        for i in range(n):
            last = x[i] * 2
        print("end")
        return last

    assert_same(f, (t(1, 3, 2), torch.tensor(3)), (t(4, 3, 2), torch.tensor(0)), (t(4, 3, 2), torch.tensor(1)))


def test_keys_that_appear_in_a_loop():
    def f(x, n):
        d = {}
        i = 0
        while i < n:
            d["k"] = d.get("k", 0) + x * i
            i += 1
        return d

    assert_same(f, (t(1, 2), torch.tensor(3)))


def test_staged_sizes_and_indices():
    def f(x, n):
        y = torch.zeros(n, 3)
        for i in range(n):
            y[i] = x[i] * i
        y[n - 1, 0] = 5.0
        filled = [None] * n
        for i in range(n):
            filled[i] = y[i]
        return y, torch.arange(n) * 2, y[: n - 1], x[n:], torch.stack(filled), y[:, n - 2 : n], y.shape[0]

    assert_same(f, (torch.arange(12.0).reshape(4, 3), torch.tensor(3)), (torch.arange(12.0).reshape(4, 3), torch.tensor(2)))


def test_libraries_written_in_torch():
    lstm, encoder = torch.nn.LSTM(3, 4), torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()

    def f(x, y):
        out, (h, c) = lstm(x)
        return out, h, c, encoder(y), torch.einsum("tbi,tbj->bij", x, x), torch.linalg.norm(y), y.softmax(-1).topk(2)

    assert_same(f, (torch.randn(5, 2, 3), torch.randn(2, 5, 8)))


def test_math_of_staged_numbers():
    def f(x):
        a = x.sum().item()
        powers = math.sqrt(a), math.exp(a), math.log(a), math.pow(a, 2), math.hypot(a, 3), math.tanh(x[0])
        return powers, math.floor(a), math.ceil(a), round(a), math.isnan(a), math.sqrt(4), math.degrees(a)

    assert_same(f, (t(1.25, 2.5),))


def test_loops_with_a_maximum_number_of_iterations():
    """The maximum applies only to staged loops, as in TensorFlow."""

    @ag.function(verify=False)
    def grown(x):
        while x.sum() < 100:
            ag.set_loop_options(maximum_iterations=3)
            x = x + 1
        return x

    @ag.function(verify=False)
    def counted(x, n):
        for i in range(10, n, -2):
            ag.set_loop_options(maximum_iterations=2)
            x = x + i
            if x > 15:
                break
        return x

    assert_equal([grown(t(x)) for x in (0, 97, 99, 100)], [t(x) for x in (3, 100, 100, 100)])
    results = [counted(torch.tensor(x), torch.tensor(n)) for x, n in ((0, 0), (0, 9), (0, 10), (6, 0))]
    assert_equal(results, [torch.tensor(x) for x in (18, 10, 0, 16)])


def test_strings_are_returned():
    def f(x):
        n = int(x[0])
        return f"{n} of {x.sum():.1f}", {"n": str(n)}, "plain"

    assert_same(f, (t(3, -4),), (t(5, 1),))

    @ag.function
    def other(x):
        ag.py_function(int, [], int)
        while x.sum() < 9:
            text = "none"
            if x.sum() > 0:
                text = f"{int(x[0])}"
            x = x + (text == "none")
        return x

    with pytest.raises(ag.StagingError, match="`text` is of different kinds in the branches: '…' and 'none'"):
        other(t(1))


def test_assignment_to_slices_of_staged_length():
    def f(x, n):
        y = x * 1
        y[:n] = x[-n:] * x[0]
        y[n:] = x[n:] * x[n:] + y[n:].detach()
        y[1:n] = 3
        return y

    def misfit(x, n):
        y = x * 1
        y[:n] = x
        return y

    x = torch.arange(1.0, 7.0)
    assert_same(f, (x, torch.tensor(2)), (x, torch.tensor(4)))
    assert_same(misfit, (x, torch.tensor(3)))
    gradients = []
    for function in (f, ag.function(f)):
        leaf = x.clone().requires_grad_()
        function(leaf, torch.tensor(4)).sum().backward()
        gradients.append(leaf.grad)
    assert_equal(*gradients)


def test_remedies_for_values_of_different_kinds():
    def none(x):
        ag.py_function(int, [], int)
        best = None
        while x.sum() < 9:
            if x[0] > 2:
                best = x * 2
            x = x + 1
        return best

    def text(x):
        ag.py_function(int, [], int)
        return "a" if x.sum() > 1 else 3

    assert "in place of None, use a value of the same kind" in refusal(none, t(1))
    assert "help: give it values of one kind on all paths" in refusal(text, t(1))
