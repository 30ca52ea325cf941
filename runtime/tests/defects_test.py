"""Programs that TensorFlow's AutoGraph rejects or executes wrongly have the same results as in Python."""

import pytest
import torch

import autograph as ag
from oracle import assert_equal, assert_same, t


def test_name_bound_in_one_branch_only():
    def f(x):
        if x.sum() > 0:
            y = x * 2
        if x.sum() > 0:
            x = y
        return x

    assert_same(f, (t(1),), (t(-1),))


def test_one_branch_returns():
    def f(x):
        if x.sum() > 0:
            return x
        x = x - 1
        if x.sum() < -5:
            return x * 3
        return x * 2

    assert_same(f, (t(1),), (t(-1),), (t(-9),))


def test_function_that_may_return_none():
    def f(x):
        if x.sum() > 0:
            return x * 2
        return None

    assert_same(f, (t(1),), (t(-1),))


def test_integer_in_one_branch_float_in_the_other():
    def f(x):
        if x.sum() > 0:
            y = 1
        else:
            y = 2.5
        s = 0
        for i in range(x.sum().int().abs()):
            s = s + 0.5
        return x * y, s * 1.0

    assert_same(f, (t(1),), (t(-3),))


def test_only_the_taken_branch_has_side_effects():
    def f(x):
        seen = [x]
        log = {"n": 0}
        if x.sum() > 0:
            seen.append(x * 2)
            log["n"] += 1
        else:
            seen.append(x * 3)
            seen.append(x * 4)
        return len(seen), log["n"], seen[-1]

    assert_same(f, (t(1),), (t(-1),))


def test_failing_operation_in_a_branch_that_python_decides():
    def f(x):
        if x.shape[0] > 4:
            return x[4]
        return x[0]

    assert_same(f, (t(1, 2),), (t(1, 2, 3, 4, 5),))


def test_nested_ternaries_and_comparisons_with_effects():
    def f(x):
        calls = [0]

        def middle():
            calls[0] += 1
            return x.mean()

        a = 1.0 if x.sum() > 10 else 2.0 if x.sum() > 0 else 3.0
        b = 0 < middle() < 5
        return x * a, bool(b), calls[0]

    assert_same(f, (t(11, 3),), (t(1, 2),), (t(-1, -2),))


def test_return_in_a_staged_loop():
    def f(x):
        for i in range(int(x[0])):
            for j in range(3):
                if x[i] * j > 3:
                    return x * j
        return x

    assert_same(f, (t(4, 2, 1, 0),), (t(2, 0, 9),))


def test_list_changed_in_a_staged_loop():
    def f(x, n):
        rows, pairs = [], []
        for i in range(n):
            rows.append(x + i)
            if i % 2 == 0:
                pairs.append(i)
        return torch.stack(rows), pairs, len(pairs)

    assert_same(f, (t(1), torch.tensor(5)))


def test_object_changed_by_a_method_in_a_staged_loop():
    class Stats:
        def __init__(self):
            self.count, self.best = 0, None

        def add(self, value):
            self.count += 1
            if self.best is None or value > self.best:
                self.best = value

    def f(x, n):
        stats = Stats()
        for i in range(n):
            stats.add(x[i])
        return stats.count, stats.best

    assert_same(f, (t(1, 5, 3), torch.tensor(3)))


def test_lambda_and_def_made_before_a_loop_see_its_changes():
    def f(x, n):
        k = 0.0
        add = lambda v: v + k

        def scaled(v):
            return v * k

        for i in range(n):
            k = k + 1
            x = add(x) + scaled(x)
        return add(x), k

    assert_same(f, (t(1), torch.tensor(3)))


def test_assignment_to_an_element():
    def f(x, n):
        for i in range(n):
            x[i] = x[i] * 2
            if x[i] > 3:
                x[i] += 1
        return x

    assert_same(f, (t(1, 2, 3), torch.tensor(3)))


def test_tensor_break_in_loops_of_python():
    def f(x):
        for k in (1, 2, 3):
            if x.sum() > 5:
                break
            x = x * k + 1
        for name, scale in {"a": 2.0, "b": 3.0}.items():
            x = x * scale
            if x.sum() > 100:
                return x, name
        return x, "none"

    assert_same(f, (t(1),))

    def g(x):
        for k in (1, 2, 3):
            if x.sum() > 5:
                break
            x = x * k + 1
        return x

    assert_same(g, (t(1),), (t(9),), (t(-9),))


def test_condition_of_while_becomes_a_tensor():
    def f(x):
        ok = True
        i = 0
        while ok:
            x = x + 1
            i += 1
            ok = x.sum() < 10
        return x, i

    assert_same(f, (t(1),), (t(100),))


def test_comprehensions_and_reductions_over_tensors():
    def f(x, m):
        rows = [row * 2 for row in m]
        return (
            torch.stack(rows), any(x > 1), all(v > 0 for v in x), sum(x), max(x), min(v * 2 for v in x),
            [i * v for i, v in enumerate(x)], sorted(x), list(map(lambda v: v + 1, x)),
        )  # fmt: skip

    assert_same(f, (t(1, 2, 3), torch.ones(2, 3)), (t(-1, 0, 0.5), torch.zeros(2, 3)))


def test_numbers_from_tensors():
    def f(x):
        k = x.sum().item()
        n = int(x[0])
        return x * k + n, [k, n, float(n) / 2, x.tolist()]

    assert_same(f, (t(1, 2),), (t(3, -1),))


def test_or_of_tensors():
    def f(x, y):
        a = x.sum() or y.sum()
        b = x.sum() and y.sum()
        return a, b, not x.sum()

    for x in (t(0), t(2)):
        assert_same(f, (x, t(3)))


def test_print_happens_in_every_run(capfd):
    @ag.function
    def f(x):
        if x.sum() > 0:
            print("positive", x.sum().item())
        return x

    for k in (1, -1, 2):
        f(t(k))
    assert capfd.readouterr().out == "positive 1.0\npositive 2.0\n"


def test_attribute_set_between_calls():
    class Model:
        scale = 2.0

        @ag.function
        def __call__(self, x):
            self.last = x * self.scale
            return self.last

    model = Model()
    model.scale = 2.0
    assert_equal(model(t(1)), t(2))
    assert_equal(model.last, t(2))


def test_loop_of_many_iterations_is_not_unrolled():
    def f(x):
        for _ in range(10_000):
            x = x * 0.999
        return x

    staged = ag.function(f)
    torch.testing.assert_close(staged(t(1.0)), f(t(1.0)))
    assert staged.graph(t(1.0)).count("aten.mul") == 1


def test_formatted_strings(capfd):
    def f(x, n):
        for i in range(n):
            x = x * 2
            print(f"step {i}: {x.sum().item():.3f}", i, x.sum(), "%.1f" % 2.0, "{}".format(x))
        if x.sum() > 10:
            raise ValueError(f"too large: {x.sum().item()} after {n} rounds")
        assert x.sum() > 0, f"bad sum {x.sum():.2f}"
        return x

    assert_same(f, (t(1, 2), torch.tensor(1)), (t(1, 2), torch.tensor(2)), (t(-1, -2), torch.tensor(1)))
    lines = capfd.readouterr().out.splitlines()
    assert lines[:1] + lines[2:4] == lines[1:2] + lines[4:6] and "step 0: 6.000" in lines[0]


@pytest.mark.parametrize(
    "factorize", [torch.linalg.cholesky, torch.linalg.inv, torch.linalg.lu_factor, lambda x: torch.linalg.solve(x, x)]
)
def test_factorizations_raise_for_singular_matrices(factorize):
    staged = ag.function(lambda x: factorize(x))
    staged(torch.eye(2))
    for run in (factorize, staged):
        with pytest.raises(RuntimeError):
            run(torch.zeros(2, 2))


def test_a_factorization_in_a_try():
    def f(x):
        for shift in (0.0, 1.0, 10.0):
            try:
                return torch.linalg.cholesky(x + shift * torch.eye(2)), shift
            except torch.linalg.LinAlgError:
                continue
        raise ValueError("no shift suffices")

    assert_same(f, (torch.eye(2),), (-torch.eye(2),), (-5 * torch.eye(2),), (-50 * torch.eye(2),))
