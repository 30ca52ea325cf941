"""Gradients of any order across the boundary of a staged function, and gradients of leaves that the function creates or
freezes."""

import autograph as ag
import pytest
import torch
from oracle import t
from torch.autograd import gradgradcheck


def leaf(*numbers):
    return torch.tensor(numbers, dtype=torch.float64, requires_grad=True)


def loop(x, n):
    y = x
    for _ in range(n):
        if y.sum() > 0:
            y = y * x.sin()
        else:
            y = y + x * x
    return y


def own_gradient(x):
    return torch.autograd.grad((x**4).sum(), x, create_graph=True)[0] * x


cube = ag.function(lambda x: (x**3).sum())


@ag.function
def around(x):
    """Staged code that differentiates staged code."""
    return torch.autograd.grad(cube(x), x, create_graph=True)[0].sin()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: ag.function(loop)(x, torch.tensor(3)),
        ag.function(own_gradient),
        around,
        ag.function(lambda x: (x.exp(), {"a": x.sin()})["a" != "a"]),
        lambda x: cube(ag.function(torch.sin)(x) * x),
    ],
    ids=["loop", "own gradient", "around", "results", "nested"],
)
def test_second_order(function):
    assert gradgradcheck(function, (leaf(0.3, -0.7, 1.1),))


def test_third_order():
    x = leaf(1.0, 2.0)
    first = torch.autograd.grad(cube(x), x, create_graph=True)[0]
    second = torch.autograd.grad(first.sum(), x, create_graph=True)[0]
    third = torch.autograd.grad(second.sum(), x)[0]
    assert torch.equal(first, 3 * x**2) and torch.equal(second, 6 * x) and third.tolist() == [6, 6]
    torch.testing.assert_close(torch.autograd.functional.hessian(cube, x), torch.diag(6 * x))


def test_a_penalty_on_a_gradient_reaches_the_parameters():
    layer = torch.nn.Linear(3, 2)

    def critic(x):
        return torch.tanh(layer(x)).sum()

    found = []
    for f in (critic, ag.function(critic)):
        layer.zero_grad()
        x = torch.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
        gradient = torch.autograd.grad(f(x), x, create_graph=True)[0]
        ((gradient.norm() - 1) ** 2).backward()
        found.append((layer.weight.grad.clone(), x.grad))
    torch.testing.assert_close(found[1], found[0])


def test_random_numbers_are_the_same_in_every_order():
    def dropped(x):
        return torch.nn.functional.dropout(x**3).sum()

    found = []
    for f in (dropped, ag.function(dropped)):
        torch.manual_seed(0)
        x = leaf(*range(1, 20))
        result = f(x)
        torch.rand(3)
        gradient = torch.autograd.grad(result, x, create_graph=True)[0]
        found.append((gradient, torch.autograd.grad(gradient.sum(), x)[0]))
    torch.testing.assert_close(found[1], found[0])


def test_inputs_that_change_before_the_second_order():
    x = leaf(1.0)
    result = cube(x)
    with torch.no_grad():
        x.add_(1)
    with pytest.raises(RuntimeError, match="changed in place"):
        torch.autograd.grad(result, x, create_graph=True)

    @ag.function
    def writes(x, buffer):
        buffer.add_(1)
        return x**3

    x = leaf(1.0)
    with pytest.raises(ag.StagingError, match="cannot be differentiated"):
        torch.autograd.grad(writes(x, torch.zeros(1)), x, create_graph=True)


FACTORIES = {
    **{
        name: lambda x, name=name: getattr(torch, name)(x)
        for name in ("zeros_like", "ones_like", "empty_like", "rand_like", "randn_like")
    },
    "full_like": lambda x: torch.full_like(x, 2.0),
    "randint_like": lambda x: torch.randint_like(x, 5),
    "new_zeros": lambda x: x.new_zeros(3),
    "new_full": lambda x: x.new_full((3,), 2.0),
    "new_empty": lambda x: x.new_empty(3),
    "new_tensor": lambda x: x.new_tensor([1.0, 2.0, 3.0]),
    "zeros": lambda x: torch.zeros(3, dtype=x.dtype),
    "bernoulli": lambda x: torch.bernoulli(torch.full((3,), 0.5, dtype=x.dtype)),
}


@pytest.mark.parametrize("make", FACTORIES.values(), ids=FACTORIES)
def test_writes_to_new_tensors_have_a_gradient(make):
    def f(x):
        y = make(x)
        y.nan_to_num_().clamp_(-1, 1)  # uninitialized memory
        y[0] = x[0] * 2
        y[1:] *= x[1:]
        return y

    check = []
    for run in (f, ag.function(f)):
        torch.manual_seed(0)
        x = leaf(1.0, 2.0, 3.0)
        y = run(x)
        assert y.requires_grad
        y[0].backward()
        check.append(x.grad)
    assert torch.equal(*check)


def test_a_detached_tensor_has_a_history_of_its_own():
    def f(x):
        y = torch.zeros(2, dtype=x.dtype)
        z = y.detach()
        z[0] = x[0]
        return y.sum() + x.sum()

    for run in (f, ag.function(f)):
        x = leaf(1.0, 2.0)
        run(x).backward()
        assert x.grad.tolist() == [1, 1]


def test_leaves_that_a_function_creates():
    @ag.function
    def f(x):
        w = torch.zeros(2, requires_grad=True)
        (w * x).sum().backward()
        return w, torch.ones_like(x, requires_grad=True)

    w, other = f(t(1, 2))
    assert w.is_leaf and w.requires_grad and w.grad.tolist() == [1, 2] and other.requires_grad

    @ag.function
    def both(x):
        w = torch.zeros(2, requires_grad=True)
        return w, w * x

    with pytest.raises(ag.StagingError, match="returned beside values") as caught:
        both(t(1, 2))
    assert "w = torch.zeros(2, requires_grad=True)" in str(caught.value)


def of_a_leaf(x):
    w = torch.zeros(2, requires_grad=True)
    return (w * x).sum(), [w * 2, (w * x).detach()], (w * x).long(), x * 2


def of_a_parameter(x):
    with torch.random.fork_rng():
        layer = torch.nn.Linear(2, 2)
    return layer(x)


def of_a_detached_leaf(x):
    w = x.detach().requires_grad_()
    loss = (w * w).sum()
    return loss, torch.autograd.grad(loss, w)[0]


def of_a_leaf_that_is_trained(x):
    w = torch.zeros(2, requires_grad=True)
    for _ in range(3):
        loss = (w - x).square().sum()
        (gradient,) = torch.autograd.grad(loss, w)
        with torch.no_grad():
            w -= 0.1 * gradient
    return loss, gradient


def of_a_leaf_on_some_paths(x):
    if x.sum() > 0:
        y = torch.ones(2, requires_grad=True) * x
    else:
        y = x * 2
    return y


def without_gradients(x):
    with torch.no_grad():
        return torch.zeros(2, requires_grad=True) * x


@pytest.mark.parametrize(
    "function",
    [of_a_leaf, of_a_parameter, of_a_detached_leaf, of_a_leaf_that_is_trained, of_a_leaf_on_some_paths, without_gradients],
)
@pytest.mark.parametrize("needs", [False, True])
def test_results_of_leaves_that_a_function_creates_have_a_history(function, needs):
    def kinds(run):
        result = run(t(1, 2).requires_grad_(needs))
        return [(leaf.requires_grad, leaf.is_leaf) for leaf in torch.utils._pytree.tree_leaves(result)]

    assert kinds(ag.function(function)) == kinds(function)


def test_a_gradient_ends_at_a_leaf_that_a_function_creates():
    f = ag.function(of_a_leaf)
    total, [double, _], *_ = f(t(1, 2))
    double *= 2
    (total + double.sum()).backward()


def test_freezing_persists():
    layer = torch.nn.Linear(2, 2)

    @ag.function
    def f(x, freeze):
        before = layer(x).sum()
        for parameter in layer.parameters():
            parameter.requires_grad_(not freeze)
        return before, layer(x * 2).sum()

    with pytest.raises(ag.StagingError, match="before `requires_grad` is set") as caught:
        layer.requires_grad_(False)
        f(t(1, 2), False)
    assert "parameter.requires_grad_(not freeze)" in str(caught.value)
    layer.requires_grad_(True)
    before, after = f(t(1, 2), True)
    assert not layer.weight.requires_grad and before.requires_grad and not after.requires_grad
    before.backward()
    assert layer.weight.grad is None  # as in eager torch, the leaf is frozen when the gradient arrives

    @ag.function
    def thaw(x):
        layer.requires_grad_(True)
        return layer(x).sum()

    layer.zero_grad()
    thaw(t(1, 2)).backward()
    assert layer.weight.requires_grad and layer.weight.grad.tolist() == [[1, 2], [1, 2]]

    @ag.function
    def at_times(x):
        ag.py_function(int, [], int)  # conditions after a call of Python cannot be decided while tracing
        while x.sum() < 9:
            if x.sum() > 0:
                layer.weight.requires_grad_(False)
            x = x + 1
        return layer(x)

    with pytest.raises(ag.StagingError, match="staged branch or loop"):
        at_times(t(1, 2))


def test_hooks_of_parameters():
    layer, calls = torch.nn.Linear(2, 1), []

    @ag.function
    def train(x):
        layer(x).sum().backward()

    train(t(1, 2))
    handle = layer.weight.register_hook(lambda gradient: calls.append(1) or gradient * 10)
    layer.zero_grad()
    train(t(1, 2))
    train(t(1, 2))
    assert layer.weight.grad.tolist() == [[20, 40]] and len(calls) == 2
    handle.remove()
    layer.zero_grad()
    train(t(1, 2))
    assert layer.weight.grad.tolist() == [[1, 2]]
    layer.weight.register_post_accumulate_grad_hook(lambda parameter: None)
    with pytest.raises(ag.StagingError, match="after a gradient was accumulated"):
        ag.function(lambda x: layer(x).sum().backward())(t(1, 2))


def test_python_runs_calls_with_sparse_gradients():
    embedding = torch.nn.Embedding(4, 2, sparse=True)
    f = ag.function(lambda index: embedding(index).sum())
    with pytest.warns(ag.FallbackWarning, match="a sparse gradient cannot be staged"):
        f(torch.tensor([1, 2])).backward()
    assert embedding.weight.grad.is_sparse and not f.traces
    with torch.no_grad():
        torch.testing.assert_close(f(torch.tensor([1, 2])), embedding(torch.tensor([1, 2])).sum())


def test_anomaly_mode_is_refused_where_it_would_check_nothing():
    f = ag.function(lambda x: torch.autograd.grad(x.sqrt().sum(), x)[0])
    x = leaf(-1.0)
    assert f(x).isnan()
    with torch.autograd.set_detect_anomaly(True), pytest.raises(ag.StagingError, match="anomaly mode"):
        f(x)


first, second = (torch.nn.Parameter(torch.ones(2, dtype=torch.float64)) for _ in range(2))


def in_branches(x, n):
    return (x * first).sum() if x.sum() > 0 else (x * second).sum()


def in_a_loop(x, n):
    for _ in range(n):
        if x.sum() > 5:
            x = x * first
        else:
            x = x + second
    return x.sum()


def in_recursion(x, n):
    if n <= 0:
        return x.sum()
    if x.sum() > 5:
        x = x * first
    else:
        x = x + second
    return in_recursion(x, n - 1)


@pytest.mark.parametrize("function", [in_branches, in_a_loop, in_recursion])
def test_a_parameter_on_another_path_has_no_gradient(function):
    staged = ag.function(function)
    for factor, n in ((1, 0), (1, 1), (1, 5), (-1, 1), (-1, 3), (4, 2)):
        x = torch.full((2,), float(factor), dtype=torch.float64, requires_grad=True)
        found = [
            torch.autograd.grad(run(x, number), [x, first, second], allow_unused=True)
            for run, number in ((function, n), (staged, torch.tensor(n)))
        ]
        assert [g is None for g in found[1]] == [g is None for g in found[0]], (factor, n)
        torch.testing.assert_close(found[1], found[0])


def test_dot_grad_of_a_parameter_on_another_path():
    def f(x):
        in_branches(x, 0).backward()

    for run in (f, ag.function(f)):
        first.grad = second.grad = None
        run(torch.ones(2, dtype=torch.float64))
        assert first.grad.tolist() == [1, 1] and second.grad is None
        run(-torch.ones(2, dtype=torch.float64))
        assert first.grad.tolist() == [1, 1] and second.grad.tolist() == [-1, -1]


def test_a_saved_graph_has_the_results_of_the_function_only(tmp_path):
    staged = ag.function(lambda x: in_branches(x, 0))
    staged.save(tmp_path / "model", torch.ones(2, dtype=torch.float64))
    assert ag.load(tmp_path / "model")(torch.ones(2, dtype=torch.float64)).item() == 2


def called_back(x, n):
    for _ in range(n):
        if x.sum() > 0:
            x = ag.py_function(lambda v: v * v.sin(), [x], x)
        else:
            x, _ = ag.py_function(lambda v, k: (v.exp() * k, 1), [x, 3], [x, "int"])
    return x.sum()


def test_the_derivative_of_python_functions():
    x = leaf(0.4, -0.3, 1.2)
    assert torch.autograd.gradcheck(lambda x: ag.function(called_back)(x, torch.tensor(3)), (x,))
    inside = ag.function(lambda x: torch.autograd.grad(called_back(x, 2), x)[0])
    torch.testing.assert_close(inside(x), torch.autograd.grad(called_back(x, 2), x)[0])
    with pytest.raises(ag.StagingError, match="no second derivative"):
        first = torch.autograd.grad(ag.function(called_back)(x, torch.tensor(1)), x, create_graph=True)[0]
        torch.autograd.grad(first.sum(), x)


def test_a_python_function_is_called_once_and_may_differentiate():
    calls = []

    def python(v):
        calls.append(1)
        w = v.detach().requires_grad_()
        with torch.enable_grad():
            scale = torch.autograd.grad((w * w).sum(), w)[0]
        return v * scale

    f = ag.function(lambda x: ag.py_function(python, [x], x).sum())
    x = leaf(1.0, 2.0)
    f(x).backward()
    assert len(calls) == 1 and x.grad.tolist() == [2, 4]
    with torch.no_grad():
        assert f(x).item() == 10


def test_a_python_function_runs_under_the_autocast_of_its_call():
    layer = torch.nn.Linear(2, 2)

    @ag.function
    def f(x):
        with torch.autocast("cpu", torch.bfloat16):
            return ag.py_function(layer, [x], "bf16[1,2]")

    assert f(torch.ones(1, 2)).dtype == torch.bfloat16
