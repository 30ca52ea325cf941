"""Gradients that staged code computes, and gradients through staged code, equal those of torch's autograd."""

import warnings

import pytest
import torch
import torch.nn.functional as F
from torch.utils import _pytree as pytree

import autograph as ag
from oracle import assert_equal, assert_same, refusal, t


def leaf(*shape, seed=0):
    torch.manual_seed(seed)
    return torch.randn(*shape, requires_grad=True)


def test_training_loop_with_grad():
    def train(x, y, w, steps):
        w = w.clone().requires_grad_()
        for i in range(steps):
            loss = F.cross_entropy(x @ w, y)
            (g,) = torch.autograd.grad(loss, (w,))
            with torch.no_grad():
                w.sub_(g, alpha=0.1)
        return w, loss

    torch.manual_seed(0)
    x, y, w = torch.randn(8, 4), torch.randint(0, 3, (8,)), torch.randn(4, 3)
    assert_same(train, (x, y, w, 30))


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adam])
def test_optimizers(kind):
    """The graph contains `backward` and `step`. Their state is kept between calls."""

    def train(x, steps):
        for i in range(steps):
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
        return loss

    results = []
    for run in (train, ag.function(train)):
        torch.manual_seed(0)
        model = torch.nn.Linear(3, 2)
        optimizer = kind(model.parameters(), lr=0.1)
        x = torch.randn(5, 3)
        losses = [run(x, 3).detach() for _ in range(3)]
        results.append([*losses, *(p.detach().clone() for p in model.parameters()), model.weight.grad.clone()])
    torch.testing.assert_close(results[1], results[0])


def test_second_order():
    def f(x):
        y = (x**3).sum()
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        (h,) = torch.autograd.grad((g * g).sum(), x)
        return g, h

    def eager(x):
        return f(x.requires_grad_())

    expected = eager(t(1, 2, 3))
    found = ag.function(f)(t(1, 2, 3).requires_grad_())
    torch.testing.assert_close([v.detach() for v in found], [v.detach() for v in expected])


def test_second_order_of_an_operator_with_absent_results():
    """The derivative of a convolution returns None if the gradient of the bias is not needed."""

    def program(x, weight):
        y = F.conv2d(x, weight)
        (first,) = torch.autograd.grad((y**3).sum(), x, create_graph=True)
        return torch.autograd.grad((first**2).sum(), [x, weight])

    assert_same(program, (leaf(2, 3, 5, 5), leaf(4, 3, 3, 3)))


def test_through_a_loop_and_a_branch():
    def f(x, n):
        h = x
        for i in range(n):
            if h.sum() > 1:
                h = torch.tanh(h * x)
            else:
                h = h + x * i
        (g,) = torch.autograd.grad(h.sum(), x)
        return g

    n = torch.tensor(5)
    for k in (0.1, 1.0):
        x = (t(0.3, 0.7) * k).requires_grad_()
        torch.testing.assert_close(ag.function(f)(x, n), f(x, n))


def test_from_outside():
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))

    def f(x):
        y = model(x).sum()
        if y > 0:
            y = y * 2
        return y

    x = leaf(2, 3)
    expected = torch.autograd.grad(f(x), [x, *model.parameters()])
    f_staged = ag.function(f)
    loss = f_staged(x) * 1.0
    loss.backward()
    torch.testing.assert_close([x.grad, *(p.grad for p in model.parameters())], list(expected))


def test_operator_without_a_rule():
    def f(x):
        y = torch.special.entr(x).sum() + torch.special.zeta(x + 2, x + 1).detach().sum() + torch.logit(x * 0.1).sum()
        (g,) = torch.autograd.grad(y, x)
        return g

    x = t(0.5, 2, 3).requires_grad_()
    torch.testing.assert_close(ag.function(f)(x), f(x))


def test_torch_func():
    def loss(p, x):
        return ((x @ p["w"] + p["b"]) ** 2).mean()

    def f(w, b, x):
        p = {"w": w, "b": b}
        for i in range(3):
            g, l = torch.func.grad_and_value(loss)(p, x)
            p = {k: p[k] - 0.1 * g[k] for k in p}
        return p, l, torch.func.grad(lambda v: (v**3).sum())(x), torch.func.vmap(lambda v: v * 2)(x)

    torch.manual_seed(0)
    assert_same(f, (torch.randn(3, 2), torch.randn(2), torch.randn(5, 3)))


def test_functions_of_torch():
    torch.manual_seed(0)
    x, y, q = torch.randn(4, 5), torch.randn(4, 5), torch.randn(2, 3, 4, 8)
    norm = torch.nn.BatchNorm1d(5)

    def check(function, *args):
        args = [arg.clone().requires_grad_() for arg in args]
        expected = torch.autograd.grad(function(*args), args)
        found = torch.autograd.grad(ag.function(function)(*args), args)
        torch.testing.assert_close(found, expected)

    check(lambda x: torch.linalg.vector_norm(x, 3.0, dim=1).sum(), x)
    check(lambda x, y: F.cosine_similarity(x, y).sum(), x, y)
    check(lambda q: F.scaled_dot_product_attention(q, q * 2, q + 1, is_causal=True).square().sum(), q)
    check(lambda x: norm(x).square().mul(x).sum(), x)
    check(lambda x: F.instance_norm(x[None]).pow(3).sum(), x)
    check(lambda x: F.huber_loss(x, x * 0.5) + F.gelu(x).sum() + F.normalize(x).prod(), x)
    check(lambda x: torch.stack([v.cumsum(0) for v in x.unsafe_chunk(2, 0)]).logsumexp(-1).sum(), x)


@pytest.mark.parametrize(
    "layer",
    [
        torch.nn.LSTM(3, 4, 2),
        torch.nn.LSTM(3, 4, bidirectional=True, batch_first=True),
        torch.nn.LSTM(3, 4, proj_size=2),
        torch.nn.GRU(3, 4, 2),
        torch.nn.RNN(3, 4),
        torch.nn.LSTM(3, 4, 3, dropout=0.5),
        torch.nn.GRU(3, 4, 2, dropout=0.5, bidirectional=True, batch_first=True),
        torch.nn.RNN(3, 4, 2, dropout=0.5, bias=False),
        torch.nn.LSTM(3, 4, 2, bias=False, bidirectional=True),
    ],
    ids=["lstm", "both ways", "projected", "gru", "rnn", "lstm, dropout", "gru, dropout", "rnn, dropout", "lstm, no bias"],
)
def test_recurrent_layers(layer):
    def loss(x):
        out, state = layer(x)
        return (out * out).sum() + state[0].sum()

    found = []
    for f in (loss, ag.function(loss)):
        layer.zero_grad()
        torch.manual_seed(0)
        f(leaf(5, 2, 3)).backward()
        found.append([p.grad.clone() for p in layer.parameters()])
    torch.testing.assert_close(*found)


@pytest.mark.parametrize("change", ["no_grad", "data", "copy", "loop"])
def test_changes_that_torch_does_not_record(change):
    """An in-place write under `torch.no_grad` changes the value of a tensor, but not its derivative."""

    def f(x, w, n):
        y = x * w
        if change == "data":
            y.data.mul_(3)
        elif change == "copy":
            with torch.no_grad():
                y[0].copy_(x[1])
        elif change == "loop":
            for i in range(n):
                with torch.no_grad():
                    y += i
                w = w * 2
        else:
            with torch.no_grad():
                y += 1
        return (y * w).sum(), y

    def gradients(f):
        x, w = t(1, 2).requires_grad_(), t(3, 4).requires_grad_()
        loss, y = f(x, w, torch.tensor(3))
        return loss.detach(), y.detach(), *torch.autograd.grad(loss, (x, w))

    def inside(x, w, n):
        x, w = x.requires_grad_(), w.requires_grad_()
        loss, y = f(x, w, n)
        return loss.detach(), y.detach(), *torch.autograd.grad(loss, (x, w))

    assert_equal(gradients(ag.function(f)), gradients(f))
    assert_same(inside, (t(1, 2), t(3, 4), torch.tensor(3)))


def accumulate(model, optimizer, x, rounds):
    """Reads `.grad` after a loop that may have no iterations."""
    optimizer.zero_grad()
    for i in range(rounds):
        loss = (model(x) * (i + 1)).square().mean()
        if loss > 0.1:
            loss.backward()
    return loss


def step_in_some_iterations(model, optimizer, x, rounds):
    for i in range(rounds):
        loss = (model(x) * (i + 1)).square().mean()
        if loss > 0.3:
            continue
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss


def leave_gradients(model, optimizer, x, rounds):
    loss = model(x).square().mean()
    loss.backward()
    return loss


@pytest.mark.parametrize("program", [accumulate, step_in_some_iterations, leave_gradients])
@pytest.mark.parametrize(
    "kind, settings",
    [
        (torch.optim.SGD, {"lr": 0.1}),
        (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
        (torch.optim.Adam, {"amsgrad": True}),
        (torch.optim.NAdam, {}),
        (torch.optim.RMSprop, {}),
    ],
)
def test_dot_grad_and_first_steps_under_conditions(program, kind, settings):
    results = []
    for run in (program, ag.function(program)):
        torch.manual_seed(0)
        model = torch.nn.Linear(3, 1)
        optimizer = kind(model.parameters(), **settings)
        x = 0.3 * torch.randn(4, 3)
        losses = []
        for rounds in (1, 4, 3, 2):
            losses.append(run(model, optimizer, x, torch.tensor(rounds)).detach())
            losses.append([p.grad.clone() if p.grad is not None else None for p in model.parameters()])
            assert all(p.grad is None or p.grad.grad_fn is None for p in model.parameters())
        results.append((losses, [p.detach().clone() for p in model.parameters()]))
    torch.testing.assert_close(results[1], results[0])
    assert len(run.traces) <= 2


@pytest.mark.parametrize(
    "kind, settings",
    [
        (torch.optim.SGD, {"momentum": 0.9}),
        (torch.optim.SGD, {"weight_decay": 0.1}),
        (torch.optim.Adam, {}),
        (torch.optim.RMSprop, {"momentum": 0.5}),
        (torch.optim.Adagrad, {}),
    ],
)
def test_steps_without_a_gradient_on_a_path(kind, settings):
    """An optimizer skips a parameter without a gradient: its value does not change, not even by momentum."""

    def trained(staged):
        torch.manual_seed(0)
        first, second, unused = (torch.nn.Linear(2, 1) for _ in range(3))
        parameters = [p for layer in (first, second, unused) for p in layer.parameters()]
        optimizer = kind(parameters, lr=0.1, **settings)

        def train(x):
            optimizer.zero_grad()
            if x.sum() > 0:
                loss = first(x).sum()
                if x.sum() > 10:
                    loss = loss + second(x).sum()
                loss.backward()
            elif x.sum() > -10:
                second(x).sum().backward()
            optimizer.step()

        run = ag.function(train) if staged else train
        found = []
        for factor in (1, 1, -1, 10, -10, -1, 1):
            run(factor * torch.ones(1, 2))
            found.append([p.detach().clone() for p in parameters] + [p.grad is None for p in parameters])
        return found

    for found, expected in zip(trained(True), trained(False)):
        for a, b in zip(found, expected):
            assert a == b if isinstance(a, bool) else torch.allclose(a, b)


def test_a_gradient_that_exists_on_a_path():
    layer = torch.nn.Linear(2, 1)

    @ag.function
    def f(x):
        if x.sum() > 0:
            layer(x).sum().backward()
        return layer.weight.grad * 2

    assert f(torch.ones(1, 2)).tolist() == [[2, 2]]
    layer.zero_grad()
    with pytest.raises(TypeError, match="unsupported operand"):
        f(-torch.ones(1, 2))


def test_gradients_that_some_experts_get():
    def trained(stage):
        torch.manual_seed(0)
        experts = torch.nn.ModuleList([torch.nn.Linear(2, 2).double() for _ in range(2)])
        optimizer = torch.optim.SGD(experts.parameters(), 0.1, momentum=0.9)

        @stage
        def step(x, bound):
            result = x.clone()
            for index, expert in enumerate(experts):
                chosen = (x[:, 0] > bound + index).nonzero()[:, 0]
                if chosen.numel() == 0:
                    continue
                result = result.index_add(0, chosen, expert(x[chosen]))
            optimizer.zero_grad(set_to_none=True)
            if result.requires_grad:
                result.sum().backward()
            optimizer.step()
            return sum(p.grad is not None for p in experts.parameters())

        x = torch.tensor([[0.5, 1.0], [1.0, 2.0]]).double()
        counts = [step(x, torch.tensor(bound)) for bound in (-5.0, 0.2, 0.2, -5.0, -0.5, 0.2)]
        return counts, list(experts.parameters())

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ag.FallbackWarning)
        found, expected = trained(ag.function), trained(lambda f: f)
    assert found[0] == expected[0] == [4, 2, 2, 4, 4, 2]
    torch.testing.assert_close(found[1], expected[1])


def test_which_results_require_a_gradient():
    """The same results require a gradient as in eager code, with one exception: if one variable of a loop requires a
    gradient, all variables of the loop do."""

    def f(x, n):
        with torch.no_grad():
            cut = x * 2
            with torch.enable_grad():
                kept = x * 3
        for _ in range(n):
            kept = kept + cut
        chosen = cut if x.sum() > 100 else x
        return cut, kept, chosen, x.detach() * 2, x.argmax(), x.sum().detach() + kept, [x.long(), x.half()], x.data

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    expected, found = (pytree.tree_leaves(run(x, n)) for run, n in ((f, 2), (ag.function(f), torch.tensor(2))))
    assert [v.requires_grad for v in found] == [v.requires_grad for v in expected]


def test_functional():
    from torch.autograd import functional

    def f(x, v):
        def g(x):
            return torch.sin(x) * x.sum()

        return (
            functional.jacobian(g, x),
            functional.hessian(lambda x: (x**3).sum() + x[0] * x[1], x),
            functional.vjp(g, x, v),
            functional.jvp(g, x, v),
        )

    assert_same(f, (t(1, 2, 3), t(1, 0, 2)))


def test_requires_grad_is_read():
    def f(x, w):
        w.requires_grad_()
        y = x * w
        return x.requires_grad, w.requires_grad, y.requires_grad, y.detach().requires_grad, (x + 1).requires_grad

    assert_same(f, (t(1, 2), t(3, 4)))


@pytest.mark.parametrize("inplace", [False, True])
def test_rrelu(inplace):
    """Each run draws the slopes, and the backward pass uses the same slopes."""

    def f(x):
        torch.manual_seed(1)
        y = torch.nn.functional.rrelu(x * 1, training=True, inplace=inplace)
        return y, torch.autograd.grad(y.sum(), x)[0], torch.nn.functional.rrelu(x)

    assert_same(f, (t(-1, 2, -3, 0).requires_grad_(),), (t(1, -2, 3, -4).requires_grad_(),))


def test_a_value_from_before_a_change_in_place():
    """The value depends on the tensor before the change. On the path without the change, that is still the current
    tensor."""

    def below_a_condition(x, n):
        m = x * 1
        y = m.sum()
        if n > 0:
            m[0] = 3
        return torch.autograd.grad(y, m, allow_unused=True)

    def in_a_loop(x, n):
        m = x * 1
        y = m.sum()
        for _ in range(n):
            m[0] = 3
        return torch.autograd.grad(y + (m * m).sum(), m)

    def without_autograd(x, n):
        y = (x * n).sum()
        with torch.no_grad():
            x.mul_(2)
        y.backward()
        return x.grad

    for f in (below_a_condition, in_a_loop, without_autograd):
        for n in (0, 1):
            message = refusal(f, leaf(3), torch.tensor(n))
            assert "earlier value of a tensor that was changed in place" in message and "line" in message


def test_a_value_from_after_a_change_in_place():
    def f(x, n):
        m = x * 1
        for i in range(n):
            m[i] = m[i] * 2
        if n > 1:
            m.mul_(3)
        return torch.autograd.grad((m * m).sum(), m)

    assert_same(f, *((leaf(3), torch.tensor(n)) for n in (0, 1, 3)))


def test_a_parameter_that_no_derivative_reaches_gets_no_gradient():
    def program(stage):
        torch.manual_seed(0)
        router, experts = torch.nn.Linear(3, 4), torch.nn.Parameter(torch.randn(4, 3))
        scale = torch.nn.Parameter(torch.ones(3))
        optimizer = torch.optim.AdamW([*router.parameters(), experts, scale], lr=0.1, weight_decay=0.5)

        @stage
        def step(x):
            optimizer.zero_grad()
            chosen = router(x).topk(2).indices
            weight = (router(x) > 0).float().sum()
            flat = torch.zeros_like(x * scale) + torch.ones_like(scale)
            loss = ((experts[chosen].sum(1) * x * flat).sum(1) * weight).sum()
            loss.backward()
            optimizer.step()
            return loss.detach()

        found = [step(torch.randn(5, 3)) for _ in range(3)]
        assert router.weight.grad is None and scale.grad is None
        return [*found, experts.grad, *(p.detach() for p in [*router.parameters(), experts, scale])]

    torch.testing.assert_close(program(ag.function), program(lambda f: f))


@pytest.mark.parametrize("kind", [torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN])
@pytest.mark.parametrize("options", [{}, {"bidirectional": True, "batch_first": True}, {"num_layers": 2, "bias": False}])
def test_final_states_of_recurrent_layers_of_float64(kind, options):
    layer = kind(3, 4, **options).double()

    def f(x):
        output, states = layer(x)
        return output, *layer(x, states), sum(state.sum() for state in states)

    x = torch.randn(2, 5, 3, dtype=torch.float64)
    expected, found = f(x), ag.function(f)(x)
    torch.testing.assert_close(found, expected)
