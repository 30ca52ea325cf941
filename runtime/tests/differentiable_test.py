"""Staged functions in computations that torch differentiates. The caller starts the backward pass."""

import pytest
import torch
from torch.utils import _pytree as pytree

import autograph as ag
from oracle import assert_equal, t


def leaf(*numbers):
    return torch.tensor(numbers, requires_grad=True)


def eager_and_staged(f):
    """Returns the eager and the staged function."""
    return f, ag.function(f)


def test_the_forward_pass_runs_once():
    calls = []

    @ag.function
    def f(x):
        y = torch.sin(x)
        ag.py_function(lambda: calls.append(1), (), [])
        return (y * y).sum()

    x = leaf(1.0, 2.0)
    f(x).backward()
    torch.testing.assert_close(x.grad, torch.sin(2 * x.detach()))
    assert len(calls) == 1


def test_printed_once(capsys):
    @ag.function
    def f(x, n):
        for i in range(n):
            x = torch.sin(x)
            print("round", i)
        return x.sum()

    f(leaf(1.0), torch.tensor(2)).backward()
    assert capsys.readouterr().out == "round 0\nround 1\n"


def test_twice_over_one_graph():
    def f(x, n):
        for i in range(n):
            x = torch.tanh(x) * x
        return x.sum()

    found = []
    for function in eager_and_staged(f):
        x = leaf(0.5, -2.0)
        loss = function(x, torch.tensor(3))
        loss.backward(retain_graph=True)
        loss.backward()
        found.append(x.grad)
    assert_equal(*found)


def test_results_may_be_changed_in_place():
    """The backward pass does not read the returned tensors, so the caller may change them in place."""

    @ag.function
    def f(x):
        y = torch.tanh(x)
        return y.view(2, 1), y * 2

    x = leaf(0.5, -2.0)
    y, z = f(x)
    with torch.no_grad():
        y.zero_()
    z.sum().backward()
    torch.testing.assert_close(x.grad, 2 * (1 - torch.tanh(x.detach()) ** 2))


def test_inputs_may_not_be_changed_in_place():
    @ag.function
    def f(x, w, unused):
        return (x * w).sum() + unused.sum()

    x, w, unused = t(1, 2), leaf(3.0, 4.0), t(5)
    loss = f(x, w, unused)
    unused.zero_()
    loss.backward()
    loss = f(x, w, unused)
    x.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_an_input_that_the_function_changes():
    """The graph keeps the old value of the input for the backward pass. Eager torch does not keep it, and raises."""

    def f(w, x):
        y = (x.view(2, 1) * w).sum()
        x.mul_(2)
        return y

    x, w = t(1, 2), leaf(3.0, 4.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        f(w, x.clone()).backward()
    ag.function(f)(w, x).backward()
    assert_equal((w.grad, x), (t(3, 3), t(2, 4)))


def test_lists_that_are_returned():
    def f(x, n):
        rows = []
        for i in range(n):
            x = torch.tanh(x)
            rows.append(x)
        return rows

    found = []
    for function in eager_and_staged(f):
        x = leaf(0.5, -2.0)
        rows = function(x, torch.tensor(3))
        (rows[2] * rows[0]).sum().backward()
        found.append(x.grad)
    assert_equal(*found)


def test_random_numbers_are_drawn_once():
    found = []
    for f in eager_and_staged(lambda x: torch.nn.functional.dropout(x, 0.5).sum() * torch.rand(())):
        torch.manual_seed(3)
        x = torch.ones(100, requires_grad=True)
        f(x).backward()
        found.append((x.grad, torch.rand(2)))
    assert_equal(*map(list, found))


def test_a_missing_derivative_is_an_error_in_the_backward_pass():
    @ag.function
    def f(x):
        return torch.special.zeta(x, x).sum()

    loss = f(leaf(2.0, 3.0))
    with pytest.raises(RuntimeError, match="zeta"):
        loss.backward()


def test_a_change_of_an_argument_has_a_history():
    def f(y, w):
        y *= w
        return y.sum()

    found = []
    for function in eager_and_staged(f):
        w = leaf(3.0, 4.0)
        y = w * 2
        z = torch.ones(2)
        loss = function(y, w) + function(z, w)
        (loss + (y * y).sum() + (z * z).sum()).backward()
        found.append((w.grad, y.detach(), z.detach()))
    assert_equal(*found)


def test_a_leaf_is_not_changed_in_place():
    def f(x):
        x += 1
        return x.sum()

    for function in eager_and_staged(f):
        x = leaf(1.0)
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
            function(x)
        assert_equal(x.detach(), t(1))


def test_buffers_have_no_history():
    layer = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    ag.function(lambda x: layer(x).sum())(torch.randn(3, 2)).backward()
    assert layer[1].running_mean.grad_fn is None and layer[1].running_mean.any()


def view_changed(x):
    y = x.clone()
    z = y.view(-1, 1)
    z[1] = 5.0
    return y, z


def base_changed(x):
    y = x.clone()
    z = y[1:]
    y.mul_(2)
    return z


def read_without_gradients(x):
    y = x.clone()
    z = y[1:]
    y.mul_(2)
    with torch.no_grad():
        total = z.sum()
    return z * total


def view_made_without_gradients(x):
    with torch.no_grad():
        y = x.clone()
        z = y[1:]
        y.mul_(2)
    return z * x[1:]


@pytest.mark.parametrize("function", [view_changed, base_changed, read_without_gradients, view_made_without_gradients])
def test_views_keep_their_history_wherever_they_are_read(function):
    found = []
    for run in eager_and_staged(function):
        x = leaf(1.0, 2.0, 3.0)
        results = pytree.tree_leaves(run(x))
        found.append([torch.autograd.grad(result.sum(), x, retain_graph=True) for result in results])
    assert_equal(*found)


def detached_and_changed(x, w):
    y = x * 1
    z = y.detach()
    z += w
    return y, z * 2


def detached_in_each_iteration(x, w):
    h, i = x * 0, t(0)
    while i < 3:
        h = h.detach()
        h += w * (i + 1)
        i = i + 1
    return (h,)


def changed_without_history(x, w):
    y = x.detach().clone()
    z = y.detach()
    i = t(0)
    while i < 3:
        z[0] = z.sum()
        z.mul_(0.5)
        i = i + 1
    return y * w, z * w


def changed_for_the_data_only(x, w):
    y = x * 1
    y.data.copy_(w)
    return (y * x,)


@pytest.mark.parametrize(
    "function",
    [detached_and_changed, detached_in_each_iteration, changed_without_history, changed_for_the_data_only],
)
def test_changes_of_detached_tensors(function):
    found = []
    for run in eager_and_staged(function):
        x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
        results = run(x, w)
        gradients = [torch.autograd.grad(r.sum(), (x, w), retain_graph=True, materialize_grads=True) for r in results]
        found.append((results, gradients))
    for mine, eager in zip(pytree.tree_leaves(found[1]), pytree.tree_leaves(found[0])):
        assert_equal(mine.detach(), eager.detach())


@pytest.mark.parametrize("write", ["z[0] = w.sum()", "if w.sum() > 0: z += w", "z += w; y.mul_(2)"])
def test_a_history_that_a_detached_tensor_would_lose_is_refused(write, tmp_path):
    path = tmp_path / "program.py"
    body = "\n    ".join(write.split("; "))
    path.write_text(f"def f(x, w):\n    y = x * 1\n    z = y.detach()\n    {body}\n    return z * 2\n")
    scope = {}
    exec(compile(path.read_text(), path, "exec"), scope)
    with pytest.raises(ag.StagingError, match=r"help: copy it: `.detach\(\).clone\(\)`") as caught:
        ag.function(scope["f"])(leaf(1.0, 2.0), leaf(3.0, 4.0))
    assert f'File "{path}", line 4' in str(caught.value)
